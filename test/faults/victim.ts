// Sends numbered texts and writes down each operationId before its send, as the guide says.
// It is killed without warning. The next life sends again what has no "done" line, with the same id and body.

import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createClient, isPartnerError } from "../../src/index.ts";
import { quickly } from "./caller.ts";
import { inParallel } from "./campaign.ts";

const [agencyId = "", apiKey = "", baseUrl = "", journal = "", seed = "", upTo = "0"] = process.argv.slice(2);

interface Note {
	readonly to: string;
	readonly body: string;
	readonly operationId: string;
}

const open = new Map<string, Note>();
let begun = 0;
if (existsSync(journal)) {
	for (const line of readFileSync(journal, "utf8").split("\n")) {
		if (line === "") continue;
		const note: Note & { done?: string } = JSON.parse(line);
		if (note.done !== undefined) open.delete(note.done);
		else {
			open.set(note.operationId, note);
			begun++;
		}
	}
}

const { messages } = createClient({ baseUrl, apiKey, deadline: 4000, ...quickly }).agency(agencyId);

async function settle(note: Note): Promise<void> {
	for (let round = 0; round < 5; round++) {
		try {
			await messages.send(note);
			appendFileSync(journal, `${JSON.stringify({ done: note.operationId })}\n`);
			return;
		} catch (error) {
			if (!isPartnerError(error)) throw error;
		}
	}
}

const unsettled = [...open.values()];
await inParallel(4, unsettled.length, async (index) => {
	const note = unsettled[index];
	if (note !== undefined) await settle(note);
});
const first = begun;
await inParallel(4, Math.max(0, Number(upTo) - first), async (index) => {
	const serial = first + index;
	const note = {
		to: `+3248${String(serial).padStart(7, "0")}`,
		body: `text ${seed}/${serial}`,
		operationId: randomUUID(),
	};
	appendFileSync(journal, `${JSON.stringify(note)}\n`);
	await settle(note);
});
