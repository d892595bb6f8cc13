/**
 * `npx tsx scripts/audit.ts`: known vulnerabilities of what runs at a user's, which is inlined in the build and which no audit of
 * theirs sees. Asks the registry about the packages and versions of sbom.cdx.json, and fails when it knows any.
 */
import { readFile } from "node:fs/promises";

interface Advisory {
	title: string;
	severity: string;
	url: string;
	vulnerable_versions: string;
}

const registry = (process.env.npm_config_registry ?? "https://registry.npmjs.org").replace(/\/+$/, "");
const { components }: { components: { name: string; version: string }[] } = JSON.parse(
	await readFile(new URL("../sbom.cdx.json", import.meta.url), "utf8"),
);
if (components.length === 0) throw new Error("sbom.cdx.json names no package");
const inlined = components.map(({ name, version }) => [name, [version]]);

const response = await fetch(`${registry}/-/npm/v1/security/advisories/bulk`, {
	method: "POST",
	headers: { "content-type": "application/json" },
	body: JSON.stringify(Object.fromEntries(inlined)),
});
if (!response.ok) throw new Error(`the registry answered ${response.status}`);
const known: Record<string, Advisory[]> = JSON.parse(await response.text());

for (const [name, advisories] of Object.entries(known)) {
	for (const { title, severity, url, vulnerable_versions } of advisories) {
		console.error(`${name} ${vulnerable_versions}: ${title} (${severity}), ${url}`);
		process.exitCode = 1;
	}
}
if (!process.exitCode)
	console.log(`nothing known of ${inlined.map(([name, version]) => `${name} ${version}`).join(", ")}`);
