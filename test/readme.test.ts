import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createSandbox } from "messaging-conversations/sandbox";
import { handlers } from "messaging-conversations/sandbox/msw";
import { setupServer } from "msw/node";
import { afterAll, beforeAll, expect, test, vi } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const readme = readFileSync(join(root, "README.md"), "utf8");
const samples = [...readme.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = ""], index) => ({
	name: `sample ${index + 1}: ${code.split("\n").find((line) => line.trim() && !line.startsWith("import")) ?? ""}`,
	code: complete(code),
}));

/** A sample that goes on from the first one begins where that ends. */
function complete(code: string): string {
	if (/const client = /.test(code)) return code;
	const beginning = `import { createClient as create } from "messaging-conversations";
const client = create({ baseUrl: process.env.MESSAGING_BASE_URL, apiKey: process.env.MESSAGING_API_KEY });
const agency = client.agency((await client.me.get()).agencies[0]?.id ?? "");
`;
	return `${beginning}${code}`;
}

const folder = mkdtempSync(join(root, "test", ".samples-"));
const files = samples.map(({ code }, index) => {
	const file = join(folder, `sample-${index + 1}.ts`);
	writeFileSync(file, `${code}\nexport {};\n`);
	return file;
});

const sandbox = createSandbox();
const service = setupServer(...handlers(sandbox));

beforeAll(() => {
	service.listen({ onUnhandledRequest: "bypass" });
	vi.stubEnv("MESSAGING_BASE_URL", sandbox.connection.baseUrl);
	vi.stubEnv("MESSAGING_API_KEY", sandbox.connection.apiKey);
	for (const level of ["log", "debug", "info"] as const) vi.spyOn(console, level).mockImplementation(() => {});
});

afterAll(() => {
	service.close();
	vi.unstubAllEnvs();
	vi.restoreAllMocks();
	rmSync(folder, { recursive: true });
});

test("the README has samples", () => {
	expect(samples.length).toBeGreaterThan(8);
});

test("every sample of the README compiles", () => {
	const config = join(folder, "tsconfig.json");
	writeFileSync(config, JSON.stringify({ extends: join(root, "tsconfig.json"), include: ["*.ts"], exclude: [] }));
	const tsc = join(root, "node_modules/typescript/bin/tsc");
	const { stdout } = spawnSync(process.execPath, [tsc, "--noEmit", "-p", config], { encoding: "utf8" });
	expect(stdout).toBe("");
}, 60_000);

test.each(samples.map(({ name }, index) => [name, files[index] ?? ""]))("%s runs", async (_name, file) => {
	sandbox.reset();
	sandbox.agency().contact("+32470123456", { name: "Peeters" }).writes("Is the flat still free?");
	await import(pathToFileURL(file).href);
});

test("the quickstart tells its story and leaves nothing running", () => {
	const told = execFileSync(process.execPath, ["--import", "tsx", "scripts/quickstart.ts"], {
		cwd: root,
		encoding: "utf8",
		timeout: 60_000,
	});
	expect(told).toContain("250 in all");
	expect(told).toContain("settled after 3 attempts; on Anna's phone it arrived 1 time");
	expect(told).toContain('she accepts, and now it shows: "Would Friday suit you?"');
	expect(told).toContain("0 violations");
}, 90_000);
