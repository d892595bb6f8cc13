import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { child } from "./child.ts";
import { type Service, tools } from "./consumer.ts";
import { startCutter } from "./cutter.ts";
import { versionOf } from "./engines.ts";
import { type Trial, wrongIn } from "./row.ts";

// The first date at which fetch takes `cache: "no-store"`, and one before it, where it throws.
const dates = ["2024-01-01", "2024-11-11", "2026-01-01"] as const;

/** Workers run no files but those that their configuration holds. */
function configuration(
	consumer: string,
	{ baseUrl, apiKey, controlUrl, token }: Service,
	{ form, date, cutUrl }: { form: "esm" | "cjs"; date: string; cutUrl: string },
): string {
	const ending = form === "esm" ? { own: "mjs", package: "js" } : { own: "cjs", package: "cjs" };
	const kind = form === "esm" ? "esModule" : "commonJsModule";
	const dist = join(consumer, "node_modules/messaging-conversations/dist");
	const text = JSON.stringify;
	const module = (name: string, file: string) =>
		`( name = ${text(name)}, ${kind} = ${text(readFileSync(file, "utf8"))} )`;
	// A worker itself is an ES module; it is its imports that may be CommonJS.
	const start = 'import worker from "worker"; export default worker.default ?? worker;';
	// workerd looks for a package beside the module that imports it.
	const client =
		form === "esm"
			? 'export * from "../messaging-conversations";'
			: "module.exports = require('../messaging-conversations');";
	const bindings = Object.entries({ baseUrl, apiKey, controlUrl, token, cutUrl }).map(
		([name, value]) => `( name = ${text(name)}, text = ${text(value)} )`,
	);
	return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
	services = [
		( name = "main", worker = (
			modules = [
				( name = "start", esModule = ${text(start)} ),
				${module("worker", join(consumer, `worker.${ending.own}`))},
				${module("messaging-conversations", join(dist, `index.${ending.package}`))},
				( name = "messaging-conversations/messaging-conversations", ${kind} = ${text(client)} ),
				${module("messaging-conversations/sync", join(dist, `sync/index.${ending.package}`))},
				${module("messaging-conversations/outbox", join(dist, `outbox/index.${ending.package}`))},
				${module("messaging-conversations/sandbox", join(dist, `sandbox/index.${ending.package}`))}
			],
			compatibilityDate = "${date}",
			bindings = [${bindings.join(", ")}]
		) ),
		( name = "internet", network = ( allow = ["public", "private", "local"] ) )
	]
);
`;
}

/** workerd, with nothing of Node switched on. */
export function workerdTrials(consumer: string, service: Service): Trial[] {
	return (["esm", "cjs"] as const).flatMap((form) =>
		dates.map((date) => ({
			group: "workerd",
			runtime: `workerd ${versionOf("@cloudflare/workerd-linux-64")}`,
			form: `${form === "esm" ? "ESM" : "CommonJS"}, compatibility date ${date}`,
			run: async () => {
				const file = join(consumer, "worker.capnp");
				const cutter = await startCutter();
				writeFileSync(file, configuration(consumer, service, { form, date, cutUrl: cutter.baseUrl }));
				const workerd = join(tools, "@cloudflare/workerd-linux-64/bin/workerd");
				const ended = await child(workerd, ["test", file], { cwd: consumer });
				cutter.close();
				return wrongIn(ended, ["", "in process"]) ?? cutter.wrong();
			},
			short: form === "esm" && date === dates.at(-1),
		})),
	);
}
