// Whoever hands a bug file on may have altered it by hand: nothing in it is trusted, and nothing of it is passed on unseen.
import { expect, test } from "vitest";
import { createSandbox, type SandboxEvent, scenarioNames } from "../../src/sandbox/index.ts";
import { isLong } from "../length.ts";
import { ANNA as anna } from "./entry-points.ts";

/** A day with an event of nearly each type, and faults, held texts and a past. */
async function bugOfADay() {
	const sandbox = createSandbox();
	sandbox.history.record();
	const agency = sandbox.agency();
	const contact = agency.contact(anna, { name: "Anna" });
	const path = `/agencies/${agency.id}`;
	const send = (body: string, operationId?: string, more: object = {}) =>
		sandbox.request({ method: "POST", path: `${path}/messages`, body: { to: anna, body, operationId, ...more } });
	contact.writes("Hello");
	const flow = agency.startFlow(anna);
	await send("Hi", "a");
	await send("Another", "a");
	flow.set("paused");
	sandbox.message(contact.state().messages.at(-1)?.id ?? 0).failed({ errorCode: 63024 });
	sandbox.clock.advance({ hours: 30 });
	await send("Held", "b");
	await send("Held instead", "c");
	contact.declines();
	sandbox.clock.advance({ hours: 30 });
	contact.setReachable(false);
	await send("Held again", "d", { boddy: 1 });
	await send("Held again", "d");
	sandbox.faults.add({ operation: "me.get", agencyId: agency.id, contact, effect: { status: 503 }, times: 3 });
	sandbox.faults.add({ operation: "messages.send", effect: "reset" }).remove();
	sandbox.breakpoints.add({ operation: "conversations.list" });
	sandbox.faults.add({ operation: "conversations.list", effect: { status: 500 } });
	const listing = sandbox.request({ method: "GET", path: `${path}/conversations?pageSize=1` });
	(await sandbox.breakpoints.nextHeld()).resume({ phase: "after", effect: "hang" });
	await listing;
	sandbox.breakpoints.add({ operation: "me.get" }).remove();
	await sandbox.request({ method: "GET", path: `${path}/conversations/${anna}/messages?pageSize=1` });
	await sandbox.request({ method: "GET", path: "/nowhere" });
	sandbox.keys.create();
	sandbox.integrations.add({ name: "Another CRM" });
	agency.rename("Another name");
	agency.conversation(anna).share();
	sandbox.loadScenario("twoLanguages");
	sandbox.restore(sandbox.snapshot());
	agency.staff.setAi({ contact, on: true });
	contact.reads();
	await send("The last one", "e");
	const request = sandbox.requests().at(-1)?.correlationId;
	return JSON.stringify(sandbox.bug({ keepContent: true, contact: anna, agencyId: agency.id, request }));
}

type Part = Record<string, unknown>;

/** Each field of a file once for each kind of place, with what sets it in a copy. */
function placesIn(file: string): Map<string, (value?: unknown) => unknown> {
	const places = new Map<string, (value?: unknown) => unknown>();
	const visit = (value: unknown, path: readonly string[]): void => {
		if (typeof value !== "object" || value === null) {
			const name = path.map((part) => (/^\d+$/.test(part) ? "*" : part)).join(".");
			const at = path[0] === "events" ? `${typeOf(file, path)} ${name}` : name;
			// Beside booleans, and what the world has in the same form.
			if (places.has(at) || typeof value === "boolean" || /^past\.\*\.(threads|rest\.agencies)/.test(at)) return;
			places.set(at, (given) => {
				if (typeof given === "string" && typeof value === "number") return undefined;
				if (typeof given === "number" && typeof value !== "number") return undefined;
				const copy = JSON.parse(file);
				const last = path.slice(0, -1).reduce<Part>((part, key) => part[key] as Part, copy);
				if (given === undefined) delete last[path.at(-1) ?? ""];
				else last[path.at(-1) ?? ""] = given;
				return copy;
			});
			return;
		}
		for (const [key, each] of Object.entries(value)) visit(each, [...path, key]);
	};
	visit(JSON.parse(file), []);
	return places;
}

const events = new Map<string, readonly SandboxEvent[]>();
function typeOf(file: string, path: readonly string[]): string {
	const all = events.get(file) ?? JSON.parse(file).events;
	events.set(file, all);
	return all[Number(path[1])]?.type ?? "";
}

/** A name and a number that nobody has. */
const canaries = ["zzyzx470998877", "470998877", 470998877];

/** What a sentence of a reason is made of is not known, so that words in it stay; numbers do not. */
const sentences = /explanation|answer\.message$/;
/** Times, counters and ids that only count look like numbers of phones. */
const counting = /^(past|world|replaced|gone|policy)\b| events\.\*\.(id|action)$|lastEventId/;

test("what is put into any field of a file is refused, or is not in a file that is made of it", async () => {
	const file = await bugOfADay();
	const places = placesIn(file);
	const [opened, leaks]: [string[], string[]] = [[], []];
	for (const [place, set] of places) {
		for (const canary of isLong || place.includes(" events.") ? canaries : canaries.slice(0, 1)) {
			const altered = typeof canary === "number" && counting.test(place) ? undefined : set(canary);
			if (altered === undefined) continue;
			let sandbox: ReturnType<typeof createSandbox>;
			try {
				sandbox = createSandbox({ from: altered as never });
			} catch (error) {
				expect(String(error), place).toMatch(/^TypeError: (bug|world|policy)\b/);
				continue;
			}
			opened.push(place);
			const text = JSON.stringify(sandbox.bug()).toLowerCase();
			const found = sentences.test(place) ? /470998877/ : /zzyzx|470998877/;
			if (found.test(text)) leaks.push(`${place}: ${canary}`);
		}
	}
	expect(leaks).toEqual([]);
	const ids = "agencyId queueId messageSid flowId correlationId integrationId faultId fault.id breakpointId scenario";
	for (const id of ids.split(" "))
		expect(
			opened.some((place) => place.endsWith(`events.*.${id}`)),
			id,
		).toBe(true);
}, 900_000);

test("a field that is missing is refused with a sentence that names it, and breaks nothing", async () => {
	const file = await bugOfADay();
	for (const [place, set] of placesIn(file)) {
		let sandbox: ReturnType<typeof createSandbox>;
		try {
			sandbox = createSandbox({ from: set() as never });
		} catch (error) {
			expect(String(error), place).toMatch(/^TypeError: (bug|world|policy)\b.*\.$/);
			continue;
		}
		for (const read of [sandbox.events, sandbox.requests, sandbox.violations, sandbox.bug]) read();
		sandbox.search("hello");
		sandbox.snapshot();
	}
	for (const field of ["body", "answer", "headers", "key"]) {
		const bug = JSON.parse(file);
		const at = bug.events.findIndex(({ type }: SandboxEvent) => type === "request");
		delete bug.events[at][field];
		expect(() => createSandbox({ from: bug })).toThrow(`bug: events[${at}].${field} must be`);
		expect(() => createSandbox().import(bug)).toThrow(`bug: events[${at}].${field} must be`);
	}
}, 900_000);

test("actions and restores of a file that cannot have been are refused", async () => {
	const file = await bugOfADay();
	const altered = (type: string, change: (event: Record<string, unknown>) => void) => {
		const bug = JSON.parse(file);
		change(bug.events.find((event: SandboxEvent) => event.type === type));
		return () => createSandbox({ from: bug });
	};
	expect(altered("window.opened", (event) => (event.action = Number(event.id) + 1))).toThrow("rising actions");
	expect(altered("request", (event) => (event.action = 1))).toThrow("rising actions");
	expect(altered("sandbox.restored", (event) => (event.lastEventId = event.id))).toThrow("go back to earlier ones");
});

test("a file of a scenario names it, and each scenario that there is", () => {
	const sandbox = createSandbox();
	for (const scenario of scenarioNames) sandbox.loadScenario(scenario);
	const again = sandbox.bug().events.flatMap((event) => (event.type === "scenario.loaded" ? [event.scenario] : []));
	expect(again).toEqual(scenarioNames);
});
