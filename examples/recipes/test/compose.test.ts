// The two services of examples/containers/compose.yaml as processes, with their commands and their environment.
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { start } from "./service.ts";

const { services } = parse(readFileSync("../containers/compose.yaml", "utf8"));
const dockerfile = readFileSync("../containers/Dockerfile", "utf8");

/** A value of the file: its variables have their defaults. */
const withDefaults = (text: string): string => text.replace(/\$\{\w+:-([^}]*)\}/g, "$1");
const environmentOf = (name: string) =>
	Object.fromEntries(
		Object.entries<string>(services[name].environment).map(([key, value]) => [key, withDefaults(value)]),
	);

test("a client in one container reaches the sandbox in the other by its name", async () => {
	const [command = "", ...args] = JSON.parse(/^ENTRYPOINT (.+)$/m.exec(dockerfile)?.[1] ?? "[]");
	expect(command).toBe("messaging-conversations");
	const cli = "node_modules/messaging-conversations/dist/cli.js";
	// A port that is free, and one line that names it.
	const options = [...args, ...services.sandbox.command, "--port", "0", "--json"].filter((word) => word !== "--quiet");
	const sandbox = start(cli, environmentOf("sandbox"), [], options);
	const port = await sandbox.printed(/"baseUrl":"http:\/\/[^:]+:(\d+)/);

	const environment = Object.fromEntries(
		Object.entries(environmentOf("tests")).map(([key, value]) => [
			key,
			value.replace("sandbox:4010", `sandbox:${port}`),
		]),
	);
	const names = ["--import", "./test/names.mjs"]; // what docker does with the name of a service
	// Beside the installed package, which it imports by its name.
	mkdirSync("node_modules/.containers", { recursive: true });
	copyFileSync("../containers/connect.mjs", "node_modules/.containers/connect.mjs");
	const tests = start("node_modules/.containers/connect.mjs", environment, names);
	await tests.printed(/^queued: true, texts on her phone: 0$/);
	expect(await tests.ended).toBe(0);

	const [, check = ""] = /fetch\('([^']+)'\)/.exec(services.sandbox.healthcheck.test.at(-1)) ?? [];
	expect((await fetch(check.replace("4010", port))).status).toBe(200);
	expect(dockerfile).toContain("EXPOSE 4010");
	sandbox.child.kill("SIGTERM");
	await sandbox.ended;
});
