import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const workflows = readdirSync(new URL("../.github/workflows", import.meta.url)).map((file) =>
	read(`.github/workflows/${file}`),
);

test("S40 an install runs no script of any package", () => {
	expect(read(".npmrc").split("\n")).toContain("ignore-scripts=true");
	const { allowScripts } = JSON.parse(read("package.json"));
	expect(Object.values(allowScripts).every((allowed) => allowed === false)).toBe(true);
});

test("S41 a release of a dependency is a week old before it is taken", () => {
	expect(read(".npmrc").split("\n")).toContain("min-release-age=7");
});

test("S42 publishing takes no token, proves where it was built, and runs pinned actions alone", () => {
	const publish = read(".github/workflows/publish.yml");
	expect(publish).toContain("id-token: write");
	expect(publish).toMatch(/environment:/);
	for (const workflow of workflows) {
		expect(workflow).not.toMatch(/secrets\.NPM_TOKEN|NODE_AUTH_TOKEN/);
		for (const [, action = ""] of workflow.matchAll(/uses: *(\S+)/g)) expect(action).toMatch(/@[0-9a-f]{40}$/);
	}
});

test("S43 the toolchain keeps to the lines that install and run on Node 20", () => {
	const { packages } = JSON.parse(read("package-lock.json"));
	const majors = Object.entries({ vitest: 4, msw: 2, tsup: 8, "p-retry": 7 });
	for (const [name, major] of majors)
		expect(packages[`node_modules/${name}`].version).toMatch(new RegExp(`^${major}\\.`));
	expect(JSON.parse(read("package.json")).engines.node).toBe(">=20.19");
	for (const line of ["20", "22", "24"])
		expect(read(".github/workflows/test.yml")).toMatch(new RegExp(`\\b${line}\\b`));
});
