/**
 * The sandbox's page and a small CRM, side by side. `npm run demo`
 *
 * The CRM has dependencies of its own in examples/apps. They are installed when they are not there yet, or not as the lock
 * file says.
 */
import { fileURLToPath } from "node:url";
import { install, isInstalled } from "./install.ts";

const apps = fileURLToPath(new URL("../examples/apps", import.meta.url));

if (!isInstalled(apps)) {
	console.log("Installing what the demo's CRM needs: once, for half a minute or so …");
	if (!install(apps)) {
		console.error("The install failed, so the demo cannot start. See above why.");
		process.exit(1);
	}
}
await import(new URL("../examples/apps/demo/main.ts", import.meta.url).href);
