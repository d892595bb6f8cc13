import { type Signal, signal } from "./signal.ts";

/** A call of a control: what a button does, and what it shows. */
export interface Call {
	readonly verb: "GET" | "POST";
	/** Below `/_sandbox/`. */
	readonly path: string;
	/** A file is sent as it is, so that the sandbox says what is wrong with it. */
	readonly body?: object | undefined;
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
	if (response.ok) return response;
	const { message }: { message?: string } = await response.json().catch(() => ({}));
	throw new Error(message ?? `The sandbox answered ${response.status}.`);
}

export async function read<Answer>(path: string): Promise<Answer> {
	return (await request(path)).json();
}

/** The call that the page shows: of the button under the pointer or in focus, else the last one that was made. */
export const shown = signal<Call | null>(null);

/** The last call that was made, and what came of it. */
export const made = signal<{ readonly call: Call; readonly answer?: unknown; readonly error?: string } | null>(null);

/** The effects of a call on the page. */
export interface Around<Answer> {
	/** The field whose text the call sends: emptied at once, and filled again when the call failed. */
	readonly text?: Signal<string> | undefined;
	readonly onDone?: ((answer: Answer) => void) | undefined;
}

/** Makes a call, and shows what came of it. */
export async function perform<Answer>(call: Call, { text, onDone }: Around<Answer> = {}): Promise<void> {
	const written = text?.value ?? "";
	if (text) text.value = "";
	shown.value = null;
	try {
		const body = call.body instanceof File ? call.body : (JSON.stringify(call.body) ?? null);
		const response = await request(call.path, { method: call.verb, body });
		const answer: Answer = await response.json();
		made.value = { call, answer };
		onDone?.(answer);
	} catch (error) {
		if (text) text.value ||= written;
		made.value = { call, error: error instanceof Error ? error.message : String(error) };
	}
}

/** A call in one line. */
export const callLine = ({ verb, path, body }: Call): string =>
	`${verb} /_sandbox/${path}${body === undefined ? "" : ` ${bodyText(body)}`}`;

/** The body as curl takes it. A file has its name there, because a whole export is too long for a line. */
export const bodyText = (body: unknown): string =>
	body instanceof File ? `@${body.name}` : typeof body === "string" ? body : JSON.stringify(body);
