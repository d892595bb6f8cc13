/** What a user's bundle gains: each entry of the build, bundled and minified, gzip. Fails over its budget. */
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "esbuild";

const root = new URL("..", import.meta.url).pathname;
const kilobyte = 1000;

/** The main entry as it would be without the phone library and its tables. */
const withoutPhone: Plugin = {
	name: "without-phone",
	setup({ onLoad }) {
		onLoad({ filter: /src\/phone\/phone\.ts$/ }, () => ({
			contents: `const no = () => undefined;
export { no as country, no as isCountry, no as isE164, no as readPhone, no as readRecipient };
export { no as requirePhone, no as requireRecipient, no as toE164 };`,
		}));
	},
};

/** What an entry adds to a bundle that has the main entry already. */
const besideMain: Plugin = {
	name: "beside-main",
	setup({ onResolve }) {
		onResolve({ filter: /^(messaging-conversations$|node:)/ }, ({ path }) => ({ path, external: true }));
	},
};

const measured = [
	{ name: "messaging-conversations", entry: "src/index.ts", budget: 58, plugins: [] },
	{ name: "… without the phone library", entry: "src/index.ts", budget: 35, plugins: [withoutPhone] },
	{ name: "…/sync, beside it", entry: "src/sync/index.ts", budget: 22, plugins: [besideMain] },
	{ name: "…/outbox, beside it", entry: "src/outbox/index.ts", budget: 122, plugins: [besideMain] },
];

for (const { name, entry, budget, plugins } of measured) {
	const { outputFiles } = await build({
		absWorkingDir: root,
		entryPoints: [entry],
		bundle: true,
		minify: true,
		format: "esm",
		platform: "neutral",
		mainFields: ["module", "main"],
		external: entry === "src/index.ts" ? [] : ["messaging-conversations"],
		write: false,
		plugins,
	});
	const size = gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length / kilobyte;
	console.log(`${name.padEnd(32)} ${size.toFixed(1).padStart(6)} kB gzip of ${budget}`);
	if (size > budget) process.exitCode = 1;
}
