import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { type Bubble, firstMessage } from "./bubble.ts";

/** A request of the client, and how it ended. Null while it runs. */
export interface Attempt {
	readonly operationId: string;
	readonly status: number | "no answer" | null;
}

/** What stands on Anna's phone, and what holds for her. */
export interface Scene {
	readonly bubbles: readonly Bubble[];
	readonly isWindowOpen: boolean;
	/** The text that waits for her answer. */
	readonly held: string | null;
	/** The sandbox's time, ISO 8601. */
	readonly at: string;
}

/** The sandbox and the client of the landing page. */
export interface Stage {
	scene(): Scene;
	/** Sends a text, and tells of each request. With `isAnswerLost`, the answer to the first one never arrives. */
	send(
		body: string,
		isAnswerLost: boolean,
		tell: (attempts: readonly Attempt[]) => void,
	): Promise<{ readonly queued: boolean }>;
	/** She taps a button of the consent template. */
	taps(code: string): void;
	/** She taps No. */
	declines(): void;
	/** A day passes. */
	forward(): void;
}

export function createStage(): Stage {
	const sandbox = createSandbox();
	const { id } = sandbox.agency();
	const anna = sandbox.agency().contact("+447700900101", { name: "Anna" });
	anna.writes(firstMessage);
	let attempts: Attempt[] = [];
	let tell = (_: readonly Attempt[]): void => undefined;
	const note = (attempt: Attempt): void => {
		attempts = [...attempts.filter(({ status }) => status !== null), attempt];
		tell(attempts);
	};
	const client = createClient({
		...sandbox.connection,
		// The key is one of the sandbox, which exists in this page only.
		dangerouslyAllowBrowser: true,
		async fetch(input, init) {
			const request = new Request(input, init);
			const operationId = await operationIdOf(request.clone());
			note({ operationId, status: null });
			try {
				const response = await sandbox.fetch(request);
				note({ operationId, status: response.status });
				return response;
			} catch (error) {
				note({ operationId, status: "no answer" });
				throw error;
			}
		},
	});
	const agency = client.agency(id);
	return {
		scene() {
			const { messages, window, held } = anna.state();
			const answered = messages.map(({ author }) => author).lastIndexOf("contact");
			const bubbles = messages.map(({ author, body, at, buttons }, index) => ({
				isHers: author === "contact",
				body: body ?? "",
				at,
				buttons: index > answered ? buttons : [],
			}));
			return {
				bubbles,
				isWindowOpen: window.open,
				held: held?.body ?? null,
				at: sandbox.clock.now().toISOString(),
			};
		},
		async send(body, isAnswerLost, onAttempts) {
			attempts = [];
			tell = onAttempts;
			if (isAnswerLost)
				sandbox.faults.add({ operation: "messages.send", contact: anna, phase: "after", effect: "reset" });
			return agency.messages.send({ to: anna.phoneNumber, body, consentLanguage: "en" });
		},
		taps(code) {
			anna.taps(code);
		},
		declines() {
			anna.declines();
		},
		forward() {
			sandbox.clock.advance({ hours: 24 });
		},
	};
}

async function operationIdOf(request: Request): Promise<string> {
	const { operationId }: { operationId?: unknown } = Object(await request.json());
	return String(operationId ?? "");
}
