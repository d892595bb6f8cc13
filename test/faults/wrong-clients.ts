import { randomUUID } from "node:crypto";
import createOpenapiClient from "openapi-fetch";
import type { paths } from "../../generated/openapi.ts";
import { agencyId, apiKey } from "./answers.ts";
import type { Caller, Claim, Message, Wiring } from "./campaign.ts";

/** Where a small client departs from the right way. */
interface Flaw {
	readonly id?: (message: Message, made: string) => string | undefined;
	readonly text?: (text: string, attempt: number) => string;
	readonly gaveUpWithoutAnswer?: true;
	readonly redirect?: RequestRedirect;
}

const unsent = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);

/** The least that is right: one id, one body, four attempts, a sticky doubt. Each wrong client changes one thing. */
function smallClient({ baseUrl, fetch, timeoutMs, deadlineMs }: Wiring, flaw: Flaw = {}): Caller {
	const url = `${baseUrl}/agencies/${agencyId}/messages`;

	async function attempt(body: string, signal?: AbortSignal): Promise<{ status: number; text: string; wait: number }> {
		const own = new AbortController();
		const timer = setTimeout(() => own.abort(), timeoutMs);
		const cut = () => own.abort();
		signal?.addEventListener("abort", cut);
		try {
			const response = await fetch(url, {
				method: "POST",
				body,
				headers: { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" },
				redirect: flaw.redirect ?? "manual",
				signal: own.signal,
			});
			const after = response.headers.get("retry-after") ?? "";
			const seconds = /^\d{1,9}$/.test(after) ? Number(after) : /GMT$/.test(after) ? 1 : 0;
			return { status: response.status, text: await capped(response), wait: seconds * 1000 };
		} finally {
			clearTimeout(timer);
			signal?.removeEventListener("abort", cut);
			own.abort();
		}
	}

	async function send(message: Message, signal?: AbortSignal): Promise<Claim> {
		const until = performance.now() + deadlineMs;
		const made = message.operationId ?? randomUUID();
		const operationId = flaw.id === undefined ? made : undefined;
		const known = operationId === undefined ? {} : { operationId };
		let doubt = false;
		for (let count = 1; count <= 4; count++) {
			let wait = 5 * 2 ** count;
			try {
				const id = flaw.id === undefined ? made : flaw.id(message, made);
				const body = flaw.text?.(message.body, count) ?? message.body;
				const answer = await attempt(JSON.stringify({ to: message.to, body, operationId: id }), signal);
				if (answer.status === 200 && answer.text !== "") {
					const parsed: unknown = JSON.parse(answer.text);
					const success = typeof parsed === "object" && parsed !== null && "success" in parsed;
					return { claim: success ? "sent" : "unknown", ...known };
				}
				const isRefused = answer.status >= 400 && answer.status < 500;
				if (isRefused && answer.text.includes('"_tag":"Partner'))
					return { claim: doubt ? "unknown" : "not_sent", ...known };
				// Something in between answered, which proves nothing.
				if (isRefused) return { claim: "unknown", ...known };
				doubt = true;
				if (answer.status >= 300 && answer.status < 400) break;
				wait = Math.max(wait, answer.wait);
			} catch (error) {
				if (flaw.gaveUpWithoutAnswer) return { claim: "not_sent", ...known };
				if (signal?.aborted) return { claim: "unknown", ...known };
				if (!unsent.has(codeOf(error))) doubt = true;
			}
			if (performance.now() + wait > until) break;
			await new Promise((done) => setTimeout(done, wait));
			// A busy machine ends a wait late.
			if (performance.now() > until) break;
		}
		return { claim: doubt ? "unknown" : "not_sent", ...known };
	}

	return { send };
}

async function capped(response: Response): Promise<string> {
	let text = "";
	const decoder = new TextDecoder();
	const reader = response.body?.getReader();
	for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
		text += decoder.decode(part.value, { stream: true });
		if (text.length > 1_000_000) throw new Error("too large");
	}
	return text;
}

function codeOf(error: unknown): string {
	const cause = error instanceof Error ? error.cause : undefined;
	return typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "";
}

/** Takes openapi-fetch's `error` for the verdict, and it is falsy for an empty 500. */
function trustsError({ baseUrl, fetch, timeoutMs }: Wiring): Caller {
	const api = createOpenapiClient<paths>({ baseUrl, fetch, headers: { Authorization: `Bearer ${apiKey}` } });
	return {
		async send(message) {
			const operationId = message.operationId ?? randomUUID();
			for (let count = 1; count <= 4; count++) {
				// Its Request loses the abort to a garbage collection, so the attempt is left rather than cut.
				let timer: NodeJS.Timeout | undefined;
				const tooLate = new Promise<never>((_, reject) => {
					timer = setTimeout(reject, timeoutMs);
				});
				const posting = api.POST("/agencies/{agencyId}/messages", {
					params: { path: { agencyId } },
					body: { to: message.to, body: message.body, operationId },
				});
				try {
					const { error } = await Promise.race([posting, tooLate]);
					if (!error) return { claim: "sent", operationId };
				} catch {
					posting.catch(() => undefined);
				} finally {
					clearTimeout(timer);
				}
			}
			return { claim: "unknown", operationId };
		},
	};
}

export const rightSmallClient = (wiring: Wiring): Caller => smallClient(wiring);

export const wrongClients = {
	"no operationId": (wiring: Wiring) => smallClient(wiring, { id: () => undefined }),
	"a new id per attempt": (wiring: Wiring) => smallClient(wiring, { id: () => randomUUID() }),
	"a body that changes on a retry": (wiring: Wiring) =>
		smallClient(wiring, { text: (text, attempt) => (attempt === 1 ? text : `${text} (${attempt})`) }),
	"trusts openapi-fetch's error": trustsError,
	"retries statuses only": (wiring: Wiring) => smallClient(wiring, { gaveUpWithoutAnswer: true }),
	"follows redirects": (wiring: Wiring) => smallClient(wiring, { redirect: "follow" }),
} satisfies Record<string, (wiring: Wiring) => Caller>;
