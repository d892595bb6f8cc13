import { type Signal, signal } from "./signal.ts";

/** What a button does, and what it shows: a control call, or with a key a call to the service. */
export interface Call {
	readonly verb: string;
	/** Below `/_sandbox/`, or for a call to the service below `/api/v1/`. */
	readonly path: string;
	/** A file or a text is sent as it is, so that the sandbox says what is wrong with it. */
	readonly body?: unknown;
	/** The API key of a call to the service. */
	readonly key?: string | undefined;
}

const storageKey = "sandbox-token";

/** The control token: from the address, from which it is removed, or as this tab kept it. */
export const token = signal(takeToken());

function takeToken(): string {
	const [, rest = "", given] = location.hash.match(/^(.*?)[#?&]token=(.+)/) ?? [];
	if (given) {
		sessionStorage.setItem(storageKey, given);
		history.replaceState(null, "", location.pathname + rest);
	}
	return sessionStorage.getItem(storageKey) ?? "";
}

export function keepToken(given: string): void {
	sessionStorage.setItem(storageKey, given);
	token.value = given;
}

/** The sandbox refused the token. */
export const isRefused = signal(false);

/** Requests a path below `/_sandbox/` with the token; throws the sandbox's own words for a refusal. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
	const headers = { authorization: `Bearer ${token.value}`, ...init.headers };
	const response = await fetch(`/_sandbox/${path}`, { ...init, headers, cache: "no-store" });
	isRefused.value = response.status === 401;
	return response.ok ? response : Promise.reject(await refusalIn(response));
}

/** Calls the service, as a CRM does. */
async function callService({ verb, path, body, key }: Call): Promise<Response> {
	const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
	const signal = AbortSignal.timeout(patienceMs);
	const response = await fetch(`/api/v1/${path}`, { method: verb, headers, body: textOf(body), signal });
	if (response.ok) return response;
	const { message } = await refusalIn(response);
	const cause = response.headers.get("x-correlation-id");
	throw new Error(`${response.status}: ${message}`, { cause });
}

/** A call to the service gets no answer after this time. */
const patienceMs = 5_000;

async function refusalIn(response: Response): Promise<Error> {
	const { message }: { message?: string } = await response.json().catch(() => ({}));
	return new Error(message ?? `The sandbox answered ${response.status}.`);
}

export async function read<Answer>(path: string): Promise<Answer> {
	return (await request(path)).json();
}

/** The call that the page shows: of the button under the pointer or in focus, else the last one that was made. */
export const shown = signal<Call | null>(null);

/** The last call that was made, and what came of it. A form shows its refusal beside its fields. */
export const made = signal<{
	readonly call: Call;
	readonly form?: string | undefined;
	readonly answer?: unknown;
	readonly error?: string;
	/** The correlation id of a request that the service refused. */
	readonly cause?: unknown;
} | null>(null);

/** Forgets a refusal, once it is about something else than what the page shows. */
export function forgetRefusal(): void {
	if (made.value?.error !== undefined) made.value = null;
}

/** The effects of a call on the page. */
export interface Around<Answer> {
	/** The field whose text the call sends: emptied at once, and filled again when the call failed. */
	readonly text?: Signal<string> | undefined;
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
	shown.value = null;
	latest = call;
	try {
		const { verb, path, body, key } = call;
		const response = await (key === undefined
			? request(path, { method: verb, body: textOf(body) })
			: callService(call));
		const answer: Answer = await response.json();
		if (latest === call) made.value = { call, form, answer };
		onDone?.(answer);
	} catch (error) {
		if (text) text.value ||= written;
		if (latest === call) made.value = { call, form, error: reasonOf(error, call), cause: Object(error).cause };
	}
}

function reasonOf(error: unknown, { key }: Call): string {
	if (!(error instanceof Error)) return String(error);
	if (error.name === "Error") return error.message;
	return key === undefined ? "The sandbox cannot be reached." : "No usable answer: it may have been carried out.";
}

const textOf = (body: unknown): string | File | null =>
	body instanceof File || typeof body === "string" ? body : (JSON.stringify(body) ?? null);

/** The address of a call, without the host. */
export const addressOf = ({ path, key }: Call): string => `/${key === undefined ? "_sandbox" : "api/v1"}/${path}`;

/** A call in one line. */
export const callLine = (call: Call): string =>
	`${call.verb} ${addressOf(call)}${call.body === undefined ? "" : ` ${bodyText(call.body)}`}`;

/** The body as curl takes it. A file has its name there, because a whole export is too long for a line. */
export const bodyText = (body: unknown): string =>
	body instanceof File ? `@${body.name}` : typeof body === "string" ? body : JSON.stringify(body);
