import { createBounded } from "../base/bounded.ts";
import type { OperationId } from "../base/contract.ts";
import { withoutMarks } from "../base/own.ts";
import type { SendDecision } from "./decision.ts";
import { iso } from "./instant.ts";

/** A request as the sandbox saw it. */
export interface RecordedRequest {
	/** Which of the six operations; null for openapi.json and for what the service does not have. */
	readonly operation: OperationId | null;
	/** The HTTP method, as it came. */
	readonly method: string;
	/** Path below the base URL, as it came, without the query. */
	readonly path: string;
	/** The query as it came, without the question mark. */
	readonly query: string;
	/** By lower-case name. `authorization` is left out, and other secrets, such as cookies, are masked. */
	readonly headers: Readonly<Record<string, string>>;
	/**
	 * The body: parsed if it is JSON of at most 100 levels, else as text. Null without a body, and from a million characters
	 * on. When the key was refused, it is kept up to 16,384 bytes.
	 */
	readonly body: unknown;
	/** The id of the key, when the key was good. */
	readonly keyId: string | null;
	/** What the request had as its key, good or not. */
	readonly key: RequestKey;
	/** The status answered; null when no answer came (a fault cut it, or it still waits). */
	readonly status: number | null;
	/**
	 * Why it was refused, or how a fault changed the answer, in a sentence or two. The service itself does not say. Null for
	 * any other request.
	 */
	readonly explanation: string | null;
	/**
	 * What decided a send: the window, consent, the AI, the text that was held, and the rule. Null for any other request, and
	 * for a send that was refused or lost before it was looked at.
	 */
	readonly decision: SendDecision | null;
	/** `X-Correlation-Id` of its answer. */
	readonly correlationId: string;
	/** The sandbox's time. */
	readonly at: string;
}

/** What a request had as its key. */
export interface RequestKey {
	/** `unknown`: a key that the sandbox has not given out, or a text that is none. `absent`: no Authorization header. */
	readonly state: "valid" | "revoked" | "expired" | "unknown" | "absent";
	/** Its id, as in `keys.list()`, when the sandbox has given it out; else null. It is not a secret. */
	readonly id: string | null;
}

/** Something that a client did which a good client would not do, though the service may bear it. */
export interface Violation {
	/** The rule, by its number in docs/fidelity.md. */
	readonly rule: string;
	/** The violation in words. */
	readonly message: string;
	/** Why it is wrong here, in a sentence or two. An operationId that was reused comes with both texts. */
	readonly explanation: string;
	/** The HTTP method of the request. */
	readonly method: string;
	/** Path below the base URL, as it came, without the query. */
	readonly path: string;
	/** The request that did it, as in `requests()`. */
	readonly correlationId: string;
}

/** A request while it is being answered; its body still as text. */
export interface Entry {
	readonly method: string;
	readonly path: string;
	readonly query: string;
	/** Without the key, and with other secrets masked. */
	readonly headers: Readonly<Record<string, string>>;
	/** The header of this name, to make the request again as it was. It is shown nowhere. */
	readonly authorization: string | null;
	readonly correlationId: string;
	readonly at: number;
	/** Empty when it was too long to keep. */
	readonly text: string;
	operation: OperationId | null;
	readonly key: RequestKey;
	status: number | null;
	explanation: string | null;
	decision: SendDecision | null;
}

/** A held text that is never sent, because a send of the client took its place. */
export interface ReplacedText {
	readonly queueId: string;
	/** The key of its send in `World.operations`; null without an operationId, and when that was forgotten. */
	readonly operation: string | null;
	/** When it was replaced. */
	readonly at: number;
}

/** The newest 10,000 requests, violations and replaced texts, and 32 MB of what they sent. */
export interface Journal {
	add(entry: Entry): void;
	violated(violation: Violation): void;
	replaced(text: ReplacedText): void;
	/** The id was forgotten (R140): no retry brings a text back that was replaced before. */
	forgotten(operation: string): void;
	requests(): RecordedRequest[];
	/** The request with this correlation id, with what is shown nowhere. */
	find(correlationId: string): Entry | undefined;
	newest(): Entry | undefined;
	violations(): Violation[];
	replacedTexts(): readonly ReplacedText[];
	/** A copy: what becomes of a request that is being answered changes nothing in it. */
	dump(): JournalDump;
	load(dump: JournalDump): void;
}

export interface JournalDump {
	readonly entries: readonly Entry[];
	readonly violations: readonly Violation[];
	readonly replaced: readonly ReplacedText[];
}

const atMost = 10_000;
const weight = 32 * 2 ** 20;
const longestBody = 1_000_000;
/** About what a header takes beside its letters. */
const weightOfHeader = 32;

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** How much of a body is kept of a caller whose key is refused. */
export const longestStrangersBody = 16_384;

/** A body as the journal keeps it. */
export function keptBody(body: string | Uint8Array, isKnown: boolean): string {
	if (body.length === 0 || body.length > (isKnown ? longestBody : longestStrangersBody)) return "";
	return typeof body === "string" ? body : utf8.decode(body);
}

export function createJournal(): Journal {
	const entries = createBounded<Entry>({ atMost, weight, weigh });
	const violations = createBounded<Violation>({ atMost, weight, weigh: ({ path }) => path.length });
	const replaced = createBounded<ReplacedText>({ atMost, weight, weigh: () => 0 });
	return {
		add: entries.add,
		violated: violations.add,
		replaced: replaced.add,
		forgotten(operation) {
			replaced.load(
				replaced.items().map((text) => (text.operation === operation ? { ...text, operation: null } : text)),
			);
		},
		requests: () => entries.items().map(recorded),
		find(correlationId) {
			for (let at = entries.length - 1; at >= 0; at--)
				if (entries.at(at)?.correlationId === correlationId) return entries.at(at);
			return undefined;
		},
		newest: () => entries.at(entries.length - 1),
		violations: () => violations.items().map((each) => ({ ...each, explanation: withoutMarks(each.explanation) })),
		replacedTexts: () => replaced.items(),
		dump: () => ({
			entries: entries.items().map((entry) => ({ ...entry })),
			violations: violations.items(),
			replaced: replaced.items(),
		}),
		load(dump) {
			entries.load(dump.entries);
			violations.load(dump.violations);
			replaced.load(dump.replaced);
		},
	};
}

const weigh = ({ path, query, headers, text }: Entry): number =>
	path.length + query.length + text.length + weightOfHeaders(headers);

/** How much text there is in headers. */
export function weightOfHeaders(headers: Readonly<Record<string, string>>): number {
	let total = 0;
	for (const name in headers) total += weightOfHeader + name.length + (headers[name]?.length ?? 0);
	return total;
}

function recorded({ text, at, authorization: _, key, explanation, ...entry }: Entry): RecordedRequest {
	return {
		...entry,
		key,
		keyId: key.state === "valid" ? key.id : null,
		body: jsonOrText(text),
		explanation: explanation === null ? null : withoutMarks(explanation),
		decision: structuredClone(entry.decision),
		at: iso(at),
	};
}

/** Names of headers whose values are secrets. */
const secretNames = /auth|cookie|secret|token|passw|credential|signature|session|api-?key/;
/** A text with a key of the API's form, escaped or not. */
const keyInText = /_live(?:\.|%(?:25)*2e)/i;
const longestHeader = 1_000;
const mostOfStranger = 8_192;

/**
 * The headers of a request as they are kept: without the key, with other secrets masked, and none longer than 1,000. Of a
 * caller whose key is refused they are kept only if they are short together.
 */
export function shownHeaders(
	{ authorization: _, ...headers }: Readonly<Record<string, string>>,
	isKnown: boolean,
): Entry["headers"] {
	const shown: Record<string, string> = {};
	if (!isKnown && weightOfHeaders(headers) > mostOfStranger) return shown;
	for (const [name, value] of Object.entries(headers))
		shown[name] =
			secretNames.test(name) || keyInText.test(value)
				? "(masked)"
				: value.length > longestHeader
					? `${value.slice(0, longestHeader)}…`
					: value;
	return shown;
}

const deepest = 100;

/** A body as JSON when it is JSON, else as text; null when it is empty. */
export function jsonOrText(text: string): unknown {
	if (text === "") return null;
	try {
		const value: unknown = JSON.parse(text);
		// JSON.parse reads any depth, but whoever writes such a value again overflows the stack.
		return isDeeper(value, deepest) ? text : value;
	} catch {
		return text;
	}
}

function isDeeper(value: unknown, levels: number): boolean {
	if (typeof value !== "object" || value === null) return false;
	return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}
