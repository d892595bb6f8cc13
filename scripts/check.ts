/**
 * `npm run check`: everything about a change that can be checked without running the tests. Runs all checks, two at a
 * time, and prints each one's output when it ends. `npm run check -- types lint` runs some of them.
 */
import concurrently from "concurrently";

const checks: Readonly<Record<string, string>> = {
	// The native compiler checks the whole repository in a few seconds. The build compiles the sources with 5.9.
	types: "node node_modules/typescript-7/bin/tsc --noEmit",
	samples: "tsx scripts/samples.ts",
	lint: "biome check .",
	contract: "redocly lint openapi.json",
	generated: "tsx scripts/generate.ts --check",
	"type-cost": "tsx scripts/type-cost.ts",
	sizes: "tsx scripts/sizes.ts",
	"dead-code": "knip",
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in checks));
if (unknown.length > 0) throw new Error(`unknown check ${unknown.join(", ")}: use ${Object.keys(checks).join(", ")}`);

const commands = Object.entries(checks)
	.filter(([name]) => asked.length === 0 || asked.includes(name))
	.map(([name, command]) => ({ name, command }));
const { result } = concurrently(commands, { maxProcesses: 2, group: true });
const failed = await result.then(
	() => [],
	(ends: { command: { name: string }; exitCode: string | number }[]) => ends.filter(({ exitCode }) => exitCode !== 0),
);
if (failed.length > 0) {
	console.error(`failed: ${failed.map(({ command }) => command.name).join(", ")}`);
	process.exitCode = 1;
}
