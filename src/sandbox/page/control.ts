import type { SandboxAnswer } from "../index.ts";
import { type Call, calls, connection } from "./store.ts";

const storageKey = "sandbox-token";

function takeToken(): string {
	const [, rest = "", given] = location.hash.match(/^(.*?)[#?&]token=(.+)/) ?? [];
	if (given) {
		sessionStorage.setItem(storageKey, given);
		history.replaceState(null, "", location.pathname + rest);
	}
	return sessionStorage.getItem(storageKey) ?? "";
}

/** The control token: from the address, from which it is removed, or as this tab kept it. */
connection.token.value = takeToken();

export function keepToken(given: string): void {
	sessionStorage.setItem(storageKey, given);
	connection.token.value = given;
}

/** Requests a path below `/_sandbox/` with the token; throws the sandbox's own words for a refusal. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
	const headers = { authorization: `Bearer ${connection.token.value}`, ...init.headers };
	const response = await fetch(`/_sandbox/${path}`, { ...init, headers, cache: "no-store" });
	connection.isRefused.value = response.status === 401;
	return response.ok ? response : Promise.reject(await refusalIn(response));
}

/** The request of a call to the service, as the sandbox makes it. */
const madeBySandbox = ({ verb, path, body, key }: Call): Call => ({
	verb: "POST",
	path: "request",
	body: { method: verb, path: `/${path}`, body, apiKey: key },
});

/** What came of a request to the service: its answer, or an error that says why there is none. */
function answerOf({ status, answer, correlationId }: SandboxAnswer): unknown {
	if (status !== null && status < 400) return answer;
	const { message }: { message?: unknown } = Object(answer);
	const words = status === null ? noAnswer : `${status}: ${message ?? `The sandbox answered ${status}.`}`;
	throw new Error(words, { cause: correlationId });
}

const noAnswer = "No usable answer: it may have been carried out.";

async function refusalIn(response: Response): Promise<Error> {
	const { message }: { message?: string } = await response.json().catch(() => ({}));
	return new Error(message ?? `The sandbox answered ${response.status}.`);
}

export async function read<Answer>(path: string): Promise<Answer> {
	return (await request(path)).json();
}

/** Forgets a refusal, once it is about something else than what the page shows. */
export function forgetRefusal(): void {
	if (calls.made.value?.error !== undefined) calls.made.value = null;
}

/** The text of a field. */
export interface Typed {
	value: string;
}

/** The effects of a call on the page. */
export interface Around<Answer> {
	/** The field whose text the call sends: emptied at once, and filled again when the call failed. */
	readonly text?: Typed | undefined;
	/** The form that makes the call. */
	readonly form?: string | undefined;
	readonly onDone?: ((answer: Answer) => void) | undefined;
	/** Called before there is an answer. */
	readonly onBegin?: (() => void) | undefined;
}

/** An answer that comes after another call was made is not shown any more. */
let latest: Call | undefined;

/** Makes a call, and shows what came of it. */
export async function perform<Answer>(call: Call, around: Around<Answer> = {}): Promise<void> {
	const { text, form, onBegin, onDone } = around;
	const written = text?.value ?? "";
	if (text) text.value = "";
	onBegin?.();
	calls.shown.value = null;
	latest = call;
	calls.running.value = [...calls.running.value, call];
	try {
		const { verb, path, body } = call.key === undefined ? call : madeBySandbox(call);
		const response = await request(path, { method: verb, body: textOf(body) });
		const given = await response.json();
		const answer: Answer = call.key === undefined && !call.isRequest ? given : answerOf(given);
		if (latest === call) calls.made.value = { call, form, answer };
		onDone?.(answer);
	} catch (error) {
		if (text) text.value ||= written;
		// A form says what became of its text, whatever was done meanwhile.
		if (latest === call || form !== undefined)
			calls.made.value = { call, form, error: reasonOf(error), cause: Object(error).cause };
	} finally {
		calls.running.value = calls.running.value.filter((each) => each !== call);
	}
}

function reasonOf(error: unknown): string {
	if (!(error instanceof Error)) return String(error);
	return error.name === "Error" ? error.message : "The sandbox cannot be reached.";
}

const textOf = (body: unknown): string | File | null =>
	body instanceof File || typeof body === "string" ? body : (JSON.stringify(body) ?? null);

/** The address of a call, without the host. */
export const addressOf = ({ path, key }: Call): string => `/${key === undefined ? "_sandbox" : "api/v1"}/${path}`;

/** A call in one line. */
export const callLine = (call: Call): string =>
	`${call.verb} ${addressOf(call)}${call.body === undefined ? "" : ` ${bodyText(call.body)}`}`;

/** The body as curl takes it. A file has its name there, because a bug file is too long for a line. */
export const bodyText = (body: unknown): string =>
	body instanceof File ? `@${body.name}` : typeof body === "string" ? body : JSON.stringify(body);
