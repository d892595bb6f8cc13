import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { libraryOf } from "../../scripts/package/library.ts";
import { installPacked } from "./install.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const consumer = mkdtempSync(join(tmpdir(), "consumer-"));

beforeAll(() => {
	installPacked(consumer);
	for (const name of ["msw", "@types"])
		symlinkSync(join(root, "node_modules", name), join(consumer, "node_modules", name));
});
afterAll(() => rmSync(consumer, { recursive: true }));

test("a library whose exports have inferred types of the package gets declarations", () => {
	writeFileSync(
		join(consumer, "library.ts"),
		`import { createClient } from "messaging-conversations";
import { checkDelivery, createOutbox, postgresStore } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { handlers } from "messaging-conversations/sandbox/msw";
import { reconcile, watch } from "messaging-conversations/sync";
export const sandbox = createSandbox();
export const mocked = () => handlers(sandbox);
export const contact = () => sandbox.agency().contact("+447700900101");
export const [snapshot, bug, events, requests] = [sandbox.snapshot(), sandbox.bug(), sandbox.events(), sandbox.requests()];
export const { world, journal } = snapshot;
export const { place, policy, gone, violations, replaced, past } = bug;
export const state = () => ({ ...sandbox.agency().state(), ...contact().state() });
export const handles = [sandbox.keys.list(), sandbox.faults.list(), sandbox.breakpoints.list(), sandbox.integrations.list()];
export const acts = { staff: sandbox.agency().staff, ai: sandbox.agency().ai, clock: sandbox.clock };
export const observed = () => sandbox.observed();
export const found = sandbox.search("op:send");
export const asked = () => sandbox.request({ method: "GET", path: "/me" });
export const client = createClient({ ...sandbox.connection });
export const agency = client.agency("agy_1");
export const { conversations, messages } = agency;
export const list = () => conversations.list().pages();
export const lookup = async () => await conversations.lookup(["+447700900101"]).result();
export const sent = () => messages.send({ to: "+447700900101", body: "Hi" }).result();
export const store = postgresStore({ query: async () => ({ rows: [] }) });
export const outbox = createOutbox({ client, store });
export const { enqueue, work } = outbox;
export const delivery = () => checkDelivery(agency, { to: "+447700900101", body: "Hi", since: 0 });
export const feed = () => watch(agency, { since: "now" });
export const nightly = () => reconcile(agency, { stored: [] });
`,
	);
	expect(declare("typescript", "library.ts")).toBe("");
});

// `npm run test:long -- runtimes` tries the same library with TypeScript 5.4 and the versions between.
test.each(["typescript", "typescript-7"])(
	"a library that exports the members of everything gets declarations from %s, because each type that they name is exported",
	(compiler) => {
		writeFileSync(join(consumer, "members.ts"), libraryOf({ withMsw: true }));
		expect(declare(compiler, "members.ts")).toBe("");
		const declared = readFileSync(join(consumer, "declared/members.d.ts"), "utf8");
		expect(declared).toMatch(/pollNow: /);
	},
);

/** Writes the declarations of a file, and returns what the compiler says. */
function declare(compiler: string, file: string): string {
	const options = "--declaration --emitDeclarationOnly --strict --target es2022 --module nodenext --skipLibCheck";
	const args = [...options.split(" "), "--lib", "es2022,dom,dom.iterable", "--outDir", "declared", file];
	const tsc = join(root, "node_modules", compiler, "bin/tsc");
	return spawnSync(process.execPath, [tsc, ...args], { cwd: consumer, encoding: "utf8" }).stdout;
}
