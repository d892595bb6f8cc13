import { limits } from "../../generated/operations.ts";
import { version } from "../../package.json";
import { type CountryCode, country } from "../phone/phone.ts";
import { isLoopback } from "../shared/hosts.ts";
import { Secret } from "../shared/secret.ts";
import {
	abortSignal,
	callable,
	checkValue,
	flag,
	hasMethods,
	isDate,
	isRecord,
	isWhole,
	milliseconds,
	object,
	oneOf,
	optional,
	orFalse,
	overwrite,
	rule,
	type Schema,
	text,
	type ValueOf,
	whole,
	wireText,
} from "../shared/validation.ts";
import { type AttemptEvent, defined, type Logger } from "./attempt-event.ts";
import type { ContractDrift } from "./drift.ts";
import { type Facts, PartnerConfigurationError, PartnerInvalidInput } from "./errors.ts";
import type { Fetch } from "./fetch-transport.ts";
import type { Recipients } from "./recipients.ts";
import type { Tracer } from "./trace.ts";
import type { Transport } from "./transport.ts";

/** An agency id, which becomes a part of a path. */
export const agencyIdText: Schema<string> = rule<string>(
	(value) => typeof value === "string" && /^[A-Za-z0-9_-]{1,128}$/.test(value),
	"must be 1 to 128 letters, digits, - or _, as me.get returns it",
);

/**
 * Returns a copy of a value that satisfies its schema, or throws an error that names the field and the rule.
 *
 * @param facts for the error
 */
export function checkInput<T>(
	schema: Schema<T>,
	value: unknown,
	field: string,
	facts: Facts,
	Refused: typeof PartnerInvalidInput | typeof PartnerConfigurationError = PartnerInvalidInput,
): T {
	return checkValue(schema, value, field, (broken, rule) => new Refused({ ...facts, field: broken, rule }));
}

/** Retries of failed attempts: 5xx, network faults, and a 429 with a Retry-After. Other 4xx are never retried. */
export interface RetryOptions {
	/** Requests in all, counting the first one, 1 to 6. `1` means exactly one request. @default 4 */
	attempts?: number | undefined;
	/**
	 * Upper bound of the first wait, in milliseconds. It doubles with each attempt. Each wait is
	 * drawn at random from the upper half of its bound, so that many clients do not retry at the same moment.
	 * @default 500
	 */
	baseDelayMs?: number | undefined;
	/** Upper bound of a wait, in milliseconds. A Retry-After of up to 30 seconds is respected beside it. @default 8000 */
	maxDelayMs?: number | undefined;
	/**
	 * Retry tokens of the client. A retry costs 5. A call that succeeds at once returns 1, one that succeeds after a retry
	 * returns 5. Without tokens nothing is retried, so that an outage does not multiply the traffic. `Infinity` turns the
	 * budget off. All calls of a client share the tokens, so that on a single call only `Infinity` has an effect.
	 * @default 100
	 */
	budget?: number | undefined;
}

/** Retry options with all values. */
export type RetryPolicy = { readonly [Option in keyof RetryOptions]-?: number };

export const defaultRetry: RetryPolicy = { attempts: 4, baseDelayMs: 500, maxDelayMs: 8000, budget: 100 };

/** Fills the given options from `base`. `false` means exactly one request. */
export function policyFrom(base: RetryPolicy, given: RetryOptions | false | undefined): RetryPolicy {
	if (given === undefined) return base;
	if (given === false) return { ...base, attempts: 1 };
	return { ...base, ...defined({ ...given }) };
}

/** Options of every call, beside its own parameters. Only own fields count, and an object of another realm is accepted. */
export interface CallOptions {
	/** Aborts the call with `PartnerAbortError`; `deadline` and `timeoutMs` end it by time. A send in flight may have been accepted all the same: see `outcome`. */
	signal?: AbortSignal | undefined;
	/** Time limit of one attempt, headers and body, in milliseconds; `deadline` limits the whole call. @default 15000 for reads, 30000 for sends */
	timeoutMs?: number | undefined;
	/**
	 * Time limit of one call, attempts and waits together, while `timeoutMs` limits one attempt: in milliseconds, or a `Date` at
	 * which the call ends. Milliseconds count from the beginning of the call, of each page of an iteration and of each request of
	 * a lookup. Given to an awaited lookup itself, they limit all of its requests together. A `Date` is the same moment for all of
	 * them. It holds even if the process was stopped, or its machine asleep, before the call began. Over a `fetch` outside of Node, a
	 * request that was waiting for a connection meanwhile can still begin late.
	 * @default 30000 for reads, 60000 for sends
	 */
	deadline?: number | Date | undefined;
	/**
	 * Calls that are given the same object use the same key: the first of them asks the key function. So a key function that is slow
	 * doesn't come between a read and the send that relies on it.
	 */
	keyScope?: object | undefined;
	/** Retry options that differ from the client's, which hold for the others; `false` means exactly one request. */
	retry?: RetryOptions | false | undefined;
	/**
	 * Headers to send, such as `{ "x-request-source": "crm" }`, beside the client's own. You can't set `authorization`, or headers of
	 * the body and the connection.
	 */
	headers?: Readonly<Record<string, string | undefined>> | undefined;
}

type GivenHeaders = NonNullable<CallOptions["headers"]>;

/** A copy of headers as a transport gets them: names in lower case, no blanks around a value. Undefined ones are left out. */
export function sentHeaders(given: GivenHeaders): Record<string, string> {
	const pairs = Object.entries(defined(given)).map(([name, value = ""]) => [name.toLowerCase(), value.trim()] as const);
	return Object.fromEntries(pairs);
}

const isTokens = (value: unknown): boolean => typeof value === "number" && value >= 0;
const isLimit = (value: unknown): boolean =>
	value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && Number(value) >= 0);

const retryPolicy = object({
	attempts: optional(whole(1, 6)),
	baseDelayMs: optional(milliseconds),
	maxDelayMs: optional(milliseconds),
	budget: optional(rule<number>(isTokens, "must be a number of tokens, 0 or more, or Infinity")),
});

const fixedHeader =
	/^(authorization|accept|content-.*|host|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect)$/i;

/** Names and values that every runtime takes. Its own error would quote the value. */
function isHeaders(value: unknown): boolean {
	const isHeader = ([name, text]: [string, unknown]): boolean => {
		const isName = /^[\w!#$%&'*+.^`|~-]{1,100}$/.test(name) && !fixedHeader.test(name);
		return isName && (text === undefined || (typeof text === "string" && /^[\t\x20-\x7e]*$/.test(text)));
	};
	return isRecord(value) && Object.entries(value).every(isHeader);
}

// A copy, because the caller may change its object between the pages of an iteration.
const headers = rule<GivenHeaders>(
	isHeaders,
	"must be an object of ASCII texts by header name, without authorization and the headers of the body and the connection",
).check(overwrite((given) => ({ ...given })));

const isMoment = (value: unknown): boolean => isDate(value) && !Number.isNaN(value.getTime());
const moment = rule<Date>(isMoment, "must be a valid Date").check(overwrite((given) => new Date(given.getTime())));
const deadline = rule<number | Date>(
	(value) => isWhole(value, 1, 2_147_483_647) || isMoment(value),
	"must be a whole number of milliseconds from 1 to 2147483647, or a valid Date",
).check(overwrite((given) => (typeof given === "number" ? given : new Date(given.getTime()))));

/** The options that a client and a call have in common. */
const sharedOptions = {
	timeoutMs: optional(milliseconds),
	deadline: optional(deadline),
	retry: optional(orFalse(retryPolicy)),
	headers: optional(headers),
};

const callOptions = {
	...sharedOptions,
	signal: optional(abortSignal),
	keyScope: optional(rule<object>((value) => typeof value === "object" && value !== null, "must be an object")),
};
const pageOptions = {
	...callOptions,
	pageSize: optional(whole(limits.pageSize.min, limits.pageSize.max)),
	cursor: optional(text),
};
const iterationOptions = { ...pageOptions, readAhead: optional(flag) };

/** The options of each operation. */
export const optionSchemas = {
	call: object(callOptions),
	page: object(pageOptions),
	iteration: object(iterationOptions),
	list: object({ ...iterationOptions, search: optional(wireText) }),
	send: object({ ...callOptions, allowUnlistedNumber: optional(flag), beginBy: optional(moment) }),
	lookup: object({ ...callOptions, concurrency: optional(whole(1, 100)) }),
	collect: object({ limit: optional(rule<number>(isLimit, "must be a whole number, 0 or more")) }),
};

/** Checks the options of a call, and returns a copy. Without options there is nothing to check. */
export function checkOptions<T>(schema: Schema<T>, value: unknown, facts: Facts): Partial<T> {
	return value === undefined ? noOptions(schema) : checkInput(schema, value, "options", facts);
}

const empty = new WeakMap<object, object>();

/** All options of a schema, each of them undefined. Checked once, because most calls have no options. */
function noOptions<T>(schema: Schema<T>): Partial<T> {
	const known = empty.get(schema) as Partial<T> | undefined;
	if (known) return known;
	const none = Object.freeze(checkInput<Partial<T>>(schema as Schema<Partial<T>>, {}, "options", {}));
	empty.set(schema, none as object);
	return none;
}

/** The API key, or a function that returns it, called for each attempt so that a rotated key is used at once. */
export type ApiKey = string | (() => string | undefined | Promise<string | undefined>);

/** Options of {@link createClient}. */
export interface ClientOptions extends Pick<CallOptions, "timeoutMs" | "deadline" | "headers"> {
	/** Base URL with the version segment, such as `https://host/api/v1`. https only; http for loopback hosts and `allowInsecureHosts`. If it is absent, the first call fails, because build steps create clients without secrets. */
	baseUrl: string | undefined;
	/**
	 * Host names that `baseUrl` may name over http, such as `["sandbox", "host.docker.internal"]` for a sandbox in another
	 * container. They take a sandbox key only.
	 */
	allowInsecureHosts?: readonly string[] | undefined;
	/**
	 * The API key, or a function that returns it, called for each attempt so that a rotated key is used at once. Only the
	 * repeat of a send that may have gone out keeps its key, because its `operationId` may not be known under another one. If the
	 * function throws an error, the call fails with a `PartnerConfigurationError` that is `retryable`. The call rejects with
	 * anything else that it throws, such as a redirect of your framework.
	 */
	apiKey: ApiKey | undefined;
	/**
	 * The `fetch` to use. `transport` takes its place altogether, so give one of the two.
	 * @default globalThis.fetch, looked up at each request
	 */
	fetch?: Fetch | undefined;
	/**
	 * The transport to use in place of `fetch`: `nodeHttp()` of `messaging-conversations/node` takes over a third less time.
	 * @default a transport over `fetch`
	 */
	transport?: Transport | undefined;
	/**
	 * How failed attempts are retried, within `deadline`. `false` means exactly one request.
	 * @default { attempts: 4, baseDelayMs: 500, maxDelayMs: 8000, budget: 100 }
	 */
	retry?: RetryOptions | false | undefined;
	/** Receives a line of text and an event for each attempt; `onAttempt` gets the event alone. Neither has the key, a phone number, a name or a message text. */
	logger?: Logger | undefined;
	/** Called with the event of each attempt, for metrics; `tracer` has one span for the whole call. Errors that it throws are ignored. */
	onAttempt?: ((event: AttemptEvent) => unknown) | undefined;
	/**
	 * An OpenTelemetry tracer. It gets one span for each request and its retries, by the HTTP semantic conventions, with
	 * the template of the path and never a phone number. An iteration has a span for each page, a lookup one for each 100
	 * numbers.
	 */
	tracer?: Tracer | undefined;
	/** Called when a valid response, or an error of the service, has something that the contract does not know, such as a new field. */
	onContractDrift?: ((drift: ContractDrift) => unknown) | undefined;
	/**
	 * The only numbers that may be sent to, or a function that returns exactly `true` for them. A send to another number
	 * fails with `PartnerInvalidInput` before any request, whatever `allowUnlistedNumber` of the send says. A `client.request` to the path of a send fails
	 * too. It keeps a staging system from writing to real people.
	 * @default everyone
	 */
	allowRecipients?: Recipients | undefined;
	/**
	 * `any` treats every 401, 403 or 404 as the service's own, whatever its body is. Set it only if your own gateway replaces the bodies
	 * of errors, as `doctor` tells you. A 404 of any load balancer then means "no such conversation" too: outbox and feed ask a
	 * lookup before they believe it, and your own calls should. The outcome of a send stays `unknown`.
	 * @default "service": only an error with the service's own body is the service's word
	 */
	errorBodies?: "service" | "any" | undefined;
	/** Your application, added to the User-Agent, which `headers` can't set. Characters other than letters, digits, `.`, `_` and `-` become `-`. */
	appInfo?:
		| {
				/** 1 to 64 ASCII characters. */
				name: string;
				/** 1 to 64 ASCII characters. */
				version?: string | undefined;
		  }
		| undefined;
	/**
	 * Country in which a number without `+` or `00` is read. An outbox takes it over, unless it's given one of its own.
	 * @default "BE"
	 */
	defaultCountry?: CountryCode | undefined;
	/**
	 * Allows the client in a browser page; `allowInsecureHosts` is what http needs. `createClient` throws there otherwise, because everybody could read the key.
	 * @default false
	 */
	dangerouslyAllowBrowser?: boolean | undefined;
}

const isWord = (value: unknown): boolean => typeof value === "string" && /^[\x20-\x7e]{1,64}$/.test(value);
const word = rule<string>(isWord, "must be 1 to 64 ASCII characters");

const isKey = (value: unknown): boolean => value instanceof Secret && /^(string|function)$/.test(typeof value.reveal());
const isLogger = (value: unknown): boolean => hasMethods(value, "debug", "info", "warn", "error");
const isHosts = (value: unknown): boolean =>
	Array.isArray(value) && value.every((host) => typeof host === "string" && /^[a-z0-9.-]{1,253}$/.test(host));
const isRecipients = (value: unknown): boolean => Array.isArray(value) || typeof value === "function";

const schema = object({
	baseUrl: optional(rule<string>((value) => typeof value === "string", "must be a string: the URL of the service")),
	apiKey: optional(rule<Secret<ApiKey>>(isKey, "must be a string, or a function that returns one")),
	fetch: optional(callable<Fetch>()),
	transport: optional(callable<Transport>()),
	...sharedOptions,
	logger: optional(rule<Logger>(isLogger, "must have the methods debug, info, warn and error, as console has")),
	onAttempt: optional(callable<(event: AttemptEvent) => unknown>()),
	onContractDrift: optional(callable<(drift: ContractDrift) => unknown>()),
	tracer: optional(
		rule<Tracer>((value) => hasMethods(value, "startSpan"), "must be a tracer of OpenTelemetry, with startSpan"),
	),
	allowInsecureHosts: optional(
		rule<readonly string[]>(isHosts, 'must be a list of host names in lower case, without a port: ["sandbox"]').check(
			overwrite((given) => [...given]),
		),
	),
	// A copy, because a client that is derived later reads it again.
	allowRecipients: optional(
		rule<Recipients>(isRecipients, "must be a list of phone numbers, or a function").check(
			overwrite((given) => (typeof given === "function" ? given : [...given])),
		),
	),
	errorBodies: optional(oneOf("service", "any")),
	appInfo: optional(object({ name: word, version: optional(word) })),
	defaultCountry: optional(country),
	dangerouslyAllowBrowser: optional(flag),
});

export type CheckedOptions = ValueOf<typeof schema>;

/** A copy of options whose key is a secret. Anything that isn't an object is returned as it is. */
export function withSecretKey(options: unknown): unknown {
	const { apiKey, ...rest } = ownKey(options) ? options : { apiKey: undefined };
	return apiKey === undefined ? options : { ...rest, apiKey: new Secret(apiKey) };
}

const ownKey = (options: unknown): options is { apiKey: unknown } =>
	typeof options === "object" && options !== null && Object.hasOwn(options, "apiKey");

/**
 * Checks the options and returns a copy.
 *
 * @param options with the key as a secret: see `withSecretKey`
 */
export function checkClientOptions(options: unknown): CheckedOptions {
	const checked = checkInput(schema, options, "options", {}, PartnerConfigurationError);
	if (checked.fetch && checked.transport) {
		throw new PartnerConfigurationError({
			field: "transport",
			rule: "must not be given together with fetch: leave one of them out",
		});
	}
	return checked;
}

const fixed = ["baseUrl", "fetch", "transport", "dangerouslyAllowBrowser"] as const;

/** The options of a client that is derived. Headers and retry options are added to those that were given. */
export function derivedOptions(changed: unknown, options: CheckedOptions): CheckedOptions {
	const facts = { operation: "withOptions" };
	const own = checkInput(schema, changed, "options", facts, PartnerConfigurationError);
	const field = fixed.find((name) => own[name] !== undefined);
	if (field !== undefined) {
		const rule = "must not change, because the clients share connections. Make another one by createClient";
		throw new PartnerConfigurationError({ ...facts, field, rule });
	}
	const { headers, retry } = own;
	return {
		...options,
		...defined(own),
		...(headers && { headers: { ...options.headers, ...defined(headers) } }),
		...(retry && options.retry && { retry: { ...options.retry, ...defined(retry) } }),
	};
}

/** Returns the base URL without a trailing slash, or nothing when it is absent. The error never shows the URL. */
export function checkBaseUrl(given = "", insecureHosts: readonly string[] = []): string {
	const text = given.trim();
	if (text === "") return "";
	if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) {
		throw refuse("baseUrl", "must be an absolute https URL, up to /api/v1");
	}
	const url = new URL(text);
	if (url.protocol !== "https:" && !isLoopback(url.hostname) && !insecureHosts.includes(url.hostname)) {
		const rule = "must be https; http is for loopback hosts only: localhost, 127.0.0.0/8, [::1]";
		throw refuse("baseUrl", `${rule}, and for allowInsecureHosts with a sandbox key`);
	}
	if (url.username || url.password)
		throw refuse("baseUrl", "must not hold a user name or password: pass the key as apiKey");
	if (/[?#]/.test(text)) throw refuse("baseUrl", "must not have a query or a fragment: end it with /api/v1");
	let { pathname } = url;
	while (pathname.endsWith("/")) pathname = pathname.slice(0, -1);
	return `${url.origin}${pathname}`;
}

/** Checks a key that is a string. An absent one fails the first call, because build steps create clients without secrets. */
export function checkKey(given: Secret<ApiKey> | undefined, baseUrl: string): void {
	const isText = given?.reveal() !== "" && typeof given?.reveal() === "string";
	const rule = isText ? keyProblem(given?.reveal(), baseUrl) : undefined;
	if (rule !== undefined) throw refuse("apiKey", rule);
}

/** The rule that a key breaks, or undefined. The service alone checks the form of a key. */
export function keyProblem(key: unknown, baseUrl: string): string | undefined {
	if (!key) return "is required. Pass the key, or a function that returns it; is its environment variable set?";
	if (typeof key !== "string") return "must be a string";
	if (!/^[\x21-\x7e]+$/.test(key)) return "must be visible ASCII without spaces, and without `Bearer`";
	if (baseUrl === "") return undefined;
	const { protocol, hostname } = new URL(baseUrl);
	// Only allowInsecureHosts lets such a base URL pass.
	const isInsecure = protocol === "http:" && !isLoopback(hostname);
	if (!key.startsWith("sandbox_live."))
		return isInsecure ? "must be a sandbox key, because baseUrl is http. Use https for another key" : undefined;
	const isSandbox = hostname === "sandbox.invalid" || isLoopback(hostname) || isInsecure;
	return isSandbox ? undefined : "is a sandbox key, but baseUrl is not a sandbox. Pass the key of the service";
}

/** Refuses to run in a page, which shows its key to everybody who opens it. */
export function refuseBrowser(isAllowed: boolean): void {
	const { window, navigator } = globalThis as { window?: { document?: unknown }; navigator?: unknown };
	if (isAllowed || window?.document === undefined || navigator === undefined) return;
	const rule = "must be true to run in a browser, where everybody can read the key. Call the service from your server";
	throw refuse("dangerouslyAllowBrowser", rule);
}

function refuse(field: string, rule: string): PartnerConfigurationError {
	return new PartnerConfigurationError({ field, rule });
}

/** SDK, runtime and application. Undefined in a page, where the browser sets its own. */
export function userAgentOf(appInfo: { name: string; version?: string | undefined } | undefined): string | undefined {
	if (typeof document === "object") return undefined;
	const { process, navigator } = globalThis as {
		process?: { versions?: { node?: string } };
		navigator?: { userAgent?: string };
	};
	const node = process?.versions?.node;
	// A runtime's name with characters that no header can hold would fail every request.
	const own = /^(?!Node\.js)[\x20-\x7e]+$/.exec(navigator?.userAgent ?? "")?.[0];
	const runtime = own ?? (node && `Node.js/${node}`);
	const app = [appInfo?.name, appInfo?.version].flatMap((part) => part?.replace(/[^\w.-]+/g, "-") ?? []).join("/");
	return [`messaging-conversations/${version}`, runtime, app].filter(Boolean).join(" ");
}
