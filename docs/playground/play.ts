import { createClient, isPartnerError } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { programs } from "./programs.ts";
import { createTransport } from "./transport.ts";

/** The sandbox of a playground, with the client that calls it. */
export interface Play {
	/** The `fetch` of the sandbox's page. */
	readonly fetch: typeof fetch;
	/** Runs a step of a story. Resolves with what the code returned, or with the error that it threw, as text. */
	run(story: string, step: number, phone: string): Promise<{ readonly text: string; readonly isError: boolean }>;
}

export function createPlay(): Play {
	const sandbox = createSandbox();
	// The key is one of the sandbox, which exists in this page only.
	const client = createClient({ ...sandbox.connection, dangerouslyAllowBrowser: true });
	return {
		fetch: createTransport(sandbox),
		async run(story, step, phone) {
			const { id } = sandbox.agency();
			const stage = { agency: client.agency(id), sandbox, contact: sandbox.agency().contact(phone), to: phone };
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
