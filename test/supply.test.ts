import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const workflows = readdirSync(new URL("../.github/workflows", import.meta.url)).map((file) =>
	read(`.github/workflows/${file}`),
);

/** A registry that knows so much of whatever it is asked about. */
async function audited(advisories: unknown): Promise<{ code: number; said: string; asked: unknown }> {
	let asked: unknown;
	const server = createServer(async (request, response) => {
		let body = "";
		for await (const chunk of request) body += chunk;
		asked = request.url === "/-/npm/v1/security/advisories/bulk" && JSON.parse(body);
		response.end(JSON.stringify(advisories));
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => void server.close());
	const script = fileURLToPath(new URL("../scripts/audit.ts", import.meta.url));
	const env = { ...process.env, npm_config_registry: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
	const child = spawn(process.execPath, ["--import", "tsx", script], { env });
	let said = "";
	for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
	const [code] = await once(child, "close");
	return { code, said, asked };
}

test("S38 what is inlined is audited at the versions of the lock file, and a known vulnerability fails", async () => {
	const { packages } = JSON.parse(read("package-lock.json"));
	const inlined =
		"@preact/signals @preact/signals-core openapi-fetch p-retry preact is-network-error zod libphonenumber-js".split(
			" ",
		);
	const clean = await audited({});
	expect(clean.asked).toEqual(
		Object.fromEntries(inlined.map((name) => [name, [packages[`node_modules/${name}`].version]])),
	);
	expect(clean.code).toBe(0);
	const advisory = { title: "Prototype pollution", severity: "high", url: "https://x", vulnerable_versions: "<9" };
	expect(await audited({ zod: [advisory] })).toMatchObject({ code: 1, said: expect.stringContaining("zod <9") });
	expect(commandsOf(jobsOf("test.yml").static)).toContain("npx tsx scripts/audit.ts");
});

test("S38 every licence, notice and list of authors of what is inlined reaches the user", () => {
	const shipped = read("THIRD-PARTY.md");
	for (const name of ["openapi-fetch", "p-retry", "is-network-error", "zod", "libphonenumber-js"]) {
		const folder = new URL(`../node_modules/${name}/`, import.meta.url);
		const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying|authors)/i.test(file));
		expect(files.length, name).toBeGreaterThan(0);
		for (const file of files) expect(shipped, `${name} ${file}`).toContain(read(`node_modules/${name}/${file}`).trim());
	}
	expect(shipped).toContain("Apache License");
	expect(shipped).toContain("Google Inc.");
	expect(JSON.parse(read("package.json")).files).toContain("THIRD-PARTY.md");
});

test("S38 the SBOM is valid CycloneDX, and has the package and what is inlined with versions and licences", async () => {
	const shipped = read("sbom.cdx.json");
	const { Spec, Validation } = await import("@cyclonedx/cyclonedx-library");
	expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(shipped)).toBeNull();
	const { metadata, components, dependencies } = JSON.parse(shipped);
	const { version, files } = JSON.parse(read("package.json"));
	expect(metadata).toEqual({ component: expect.objectContaining({ name: "messaging-conversations", version }) });
	const parts = [...read("THIRD-PARTY.md").matchAll(/^## (\S+) (\S+)\n\n(\S+)$/gm)].map(
		([, name, version, license]) => ({
			name,
			version,
			purl: `pkg:npm/${name?.replace("@", "%40")}@${version}`,
			licenses: [{ license: { id: license } }],
		}),
	);
	parts.sort((one, other) => (one.purl < other.purl ? -1 : 1));
	expect(components).toEqual(parts.map((part) => expect.objectContaining(part)));
	const refs: string[] = parts.map(({ purl }) => purl);
	expect(dependencies).toContainEqual({ ref: `pkg:npm/messaging-conversations@${version}`, dependsOn: refs });
	expect(files).toContain("sbom.cdx.json");
});

test("S40 an install runs no script of any package", () => {
	expect(read(".npmrc").split("\n")).toContain("ignore-scripts=true");
	const { allowScripts } = JSON.parse(read("package.json"));
	expect(Object.values(allowScripts).every((allowed) => allowed === false)).toBe(true);
});

test("S41 a release of a dependency is a week old before it is taken", () => {
	expect(read(".npmrc").split("\n")).toContain("min-release-age=7");
});

/** The jobs of a workflow by their names. */
function jobsOf(file: string): Record<string, string> {
	const [, jobs = ""] = read(`.github/workflows/${file}`).split(/^jobs:\n/m);
	const named = jobs.matchAll(/^ {2}(\w+):\n((?: {3,}.*\n| *\n| *#.*\n)+)/gm);
	return Object.fromEntries([...named].map(([, name, job]) => [name, job]));
}

/** The one-line commands of a job. */
function commandsOf(job = ""): string[] {
	return [...job.matchAll(/^ +(?:- )?run: (?!\|)(.+)$/gm)].map(([, command = ""]) => command);
}

function versionsOf(job = ""): string[] {
	const [, matrix] = /^ +node: \[(.+)\]$/m.exec(job) ?? [];
	const [, version = ""] = /^ +node-version: (.+)$/m.exec(job) ?? [];
	return version.includes("matrix.node") ? (matrix ?? "").split(", ") : [version];
}

test("S42 publishing takes no token, proves where it was built, and runs pinned actions alone", () => {
	const { pack, publish = "" } = jobsOf("publish.yml");
	expect(publish).toMatch(/^ {6}id-token: write$/m);
	expect(publish).toMatch(/^ {4}environment: npm$/m);
	expect(commandsOf(publish)).toEqual([expect.stringMatching(/^npm publish .*--provenance( |$)/)]);
	expect(commandsOf(pack)).toContain("bash .ci/run");
	for (const workflow of workflows) {
		expect(workflow).not.toMatch(/secrets\.NPM_TOKEN|NODE_AUTH_TOKEN/);
		for (const [, action = ""] of workflow.matchAll(/uses: *(?!\.\/)(\S+)/g)) expect(action).toMatch(/@[0-9a-f]{40}$/);
	}
});

test.each([
	["none", undefined, 1],
	["another", { type: "git", url: "git+https://github.com/acme/messaging-old.git" }, 1],
	["this one", { type: "git", url: "git+https://github.com/acme/messaging.git" }, 0],
])("S42 a package that names as its repository %s publishes or not", (_which, repository, status) => {
	const command = commandsOf(jobsOf("publish.yml").pack).find((line) => line.includes("repository"));
	const folder = mkdtempSync(join(tmpdir(), "repository-"));
	onTestFinished(() => rmSync(folder, { recursive: true }));
	writeFileSync(join(folder, "package.json"), JSON.stringify({ repository }));
	const env = { ...process.env, REPOSITORY: "acme/messaging" };
	expect(spawnSync("bash", ["-eo", "pipefail", "-c", command ?? ""], { cwd: folder, env }).status).toBe(status);
});

test.each([
	["without a date", "## 1.2.3 (unreleased)", 1],
	["of another version", "## 11.2.3 (2026-01-31)\n\n## 1.2.30 (2026-01-31)", 1],
	["with a date", "# Changelog\n\n## 1.2.3 (2026-01-31)\n", 0],
])("a release whose chapter of the changelog is %s publishes or not", (_which, text, status) => {
	const command = commandsOf(jobsOf("publish.yml").pack).find((line) => line.includes("CHANGELOG.md"));
	const folder = mkdtempSync(join(tmpdir(), "changelog-"));
	onTestFinished(() => rmSync(folder, { recursive: true }));
	writeFileSync(join(folder, "package.json"), JSON.stringify({ version: "1.2.3" }));
	writeFileSync(join(folder, "CHANGELOG.md"), text);
	expect(spawnSync("bash", ["-eo", "pipefail", "-c", command ?? ""], { cwd: folder }).status).toBe(status);
});

test("S43 the toolchain keeps to the lines that install and run on Node 20", () => {
	const { packages } = JSON.parse(read("package-lock.json"));
	const majors = Object.entries({ vitest: 4, msw: 2, tsup: 8, "p-retry": 7 });
	for (const [name, major] of majors)
		expect(packages[`node_modules/${name}`].version).toMatch(new RegExp(`^${major}\\.`));
	expect(JSON.parse(read("package.json")).engines.node).toBe(">=20.19");
});

test("S43 each page and each package names the same oldest line of Node, and the README when it goes", () => {
	for (const page of ["README.md", "CONTRIBUTING.md", "docs/which-part.md", "examples/README.md"])
		expect(read(page)).toContain("Node 20.19 or later");
	for (const folder of ["examples/apps", "examples/recipes"])
		expect(JSON.parse(read(`${folder}/package.json`)).engines.node).toBe(">=20.19");
	expect(read("README.md")).toContain("A minor version may drop a line of Node that is no longer maintained.");
});

test("S43 a change runs on the oldest line of Node and on those in use, and each night on all and in every runtime", () => {
	const { line, runtimes } = jobsOf("long.yml");
	const { line: inUse, ...jobs } = jobsOf("test.yml");
	for (const job of Object.values(jobs)) expect(versionsOf(job)).toEqual(["20"]);
	expect(versionsOf(inUse)).toEqual(["24", "26"]);
	expect(commandsOf(inUse)).toEqual(["npm ci && npm run quickstart", "npm ci && npm test"]);
	expect(versionsOf(line)).toEqual(["22", "24", "26"]);
	expect(commandsOf(line)).toEqual(expect.arrayContaining(["npm ci && npm test", "TEST_LONG=1 npm run test:package"]));
	expect(commandsOf(runtimes)).toContain("npm run test:long -- runtimes");
	expect(read(".github/workflows/long.yml")).toMatch(/^ {2}schedule:$/m);
});

test("S43 the four jobs of a change run what .ci/run runs", () => {
	const { static: checks, client, sandbox, durable, line: _, ...more } = jobsOf("test.yml");
	expect(more).toEqual({});
	const jobs = [checks, client, sandbox, durable].flatMap(commandsOf);
	for (const [command] of read(".ci/run").matchAll(/npm (ci && npm )?run [\w:]+/g)) expect(jobs).toContain(command);
	const [, excluded = ""] = /--exclude "test\/\{(.+)\}/.exec(client ?? "") ?? [];
	const folders = [sandbox, durable].flatMap(commandsOf).flatMap((command) => command.match(/test\/\w+/g) ?? []);
	expect(folders.sort()).toEqual(
		excluded
			.split(",")
			.map((name) => `test/${name}`)
			.sort(),
	);
});

test("a release waits for every test at full length", () => {
	const { publish = "", long = "" } = jobsOf("publish.yml");
	expect(long).toContain("uses: ./.github/workflows/long.yml");
	expect(publish).toContain("needs: [pack, long]");
	const parts = [...read("scripts/long.ts").matchAll(/^\t"?([\w-]+)"?:\s+"/gm)].map(([, name]) => name);
	const { part = "", databases, runtimes } = jobsOf("long.yml");
	const [, listed = ""] = /part: \[(.+)\]/.exec(part) ?? [];
	for (const own of [databases, runtimes]) expect(own).toContain("npm run test:long -- ");
	expect([...listed.split(", "), "databases", "runtimes"].sort()).toEqual(parts.sort());
});
