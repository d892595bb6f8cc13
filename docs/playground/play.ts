import { createClient, isPartnerError } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { memoryStore } from "../../test/outbox/memory.ts";
import { programs, type texts } from "./programs.ts";
import { createTransport } from "./transport.ts";

/** The sandbox of a playground, with the client that calls it. */
export interface Play {
	/** The `fetch` of the sandbox's page. */
	readonly fetch: typeof fetch;
	/** The number of a contact who has not been in a story. */
	newContact(): string;
	/** Runs a step of a story. Resolves with what the code returned, or with the error that it threw, as text. */
	run(
		story: string,
		step: number,
		phone: string,
		bodies: typeof texts,
	): Promise<{ readonly text: string; readonly isError: boolean }>;
}

export function createPlay(): Play {
	const sandbox = createSandbox();
	// The key is one of the sandbox, which exists in this page only.
	const client = createClient({ ...sandbox.connection, dangerouslyAllowBrowser: true });
	const { now } = sandbox.clock;
	const outbox = createOutbox({ client, store: memoryStore(() => now().getTime()), now });
	const saved = {};
	let last = 301;
	return {
		fetch: createTransport(sandbox),
		newContact: () => `+447700900${last++}`,
		async run(story, step, phone, bodies) {
			const { id } = sandbox.agency();
			const contact = sandbox.agency().contact(phone);
			const stage = { agency: client.agency(id), sandbox, contact, to: phone, outbox, saved, ...bodies };
			try {
				const result = await programs[story]?.[step]?.run(stage);
				return { text: JSON.stringify(result, null, 2), isError: false };
			} catch (error) {
				const outcome = isPartnerError(error) && "outcome" in error ? `\noutcome: ${error.outcome}` : "";
				return { text: `${error}${outcome}`, isError: true };
			}
		},
	};
}
