import { type CountryCode, countryRule, isCountry } from "../phone/phone.ts";
import { type CallOptions, type RetryOptions, sharedOptions } from "./call-options.ts";
import type { ApiKey } from "./connection.ts";
import type { ContractDrift } from "./drift.ts";
import { PartnerConfigurationError } from "./errors.ts";
import type { AttemptEvent, Logger } from "./events.ts";
import type { Exchange } from "./exchange.ts";
import type { Fetch } from "./fetch-exchange.ts";
import type { Recipients } from "./recipients.ts";
import type { Tracer } from "./trace.ts";
import { callable, checkInput, flag, hasMethods, object, optional, rule, type ValueOf } from "./validate.ts";

/** Options of {@link createClient}. */
export interface ClientOptions extends Pick<CallOptions, "timeoutMs" | "deadlineMs"> {
	/** Base URL with the version segment, such as `https://host/api/v1`. https only; http for loopback hosts only. */
	baseUrl: string | undefined;
	/**
	 * The API key, or a function that returns it, called for each attempt so that a rotated key is used at once. When the
	 * function fails, the call fails with a `PartnerConfigurationError` that is `retryable`.
	 */
	apiKey: ApiKey | undefined;
	/**
	 * The `fetch` to use. Give `fetch` or `http`, not both.
	 * @default globalThis.fetch, looked up at each request
	 */
	fetch?: Fetch | undefined;
	/**
	 * The exchange to use in place of `fetch`: `nodeHttp()` of `messaging-conversations/node` takes over a third less time.
	 * @default an exchange over `fetch`
	 */
	http?: Exchange | undefined;
	/**
	 * How failed attempts are tried again; `false` means exactly one request.
	 * @default { attempts: 4, baseDelayMs: 500, maxDelayMs: 8000, budget: 100 }
	 */
	retry?: RetryOptions | false | undefined;
	/** Receives a line of text and an event for each attempt. Neither has the key, a phone number, a name or a message text. */
	logger?: Logger | undefined;
	/** Called after each attempt. Errors that it throws are ignored. */
	onAttempt?: ((event: AttemptEvent) => unknown) | undefined;
	/**
	 * An OpenTelemetry tracer. It gets one span for each request and its retries, by the HTTP semantic conventions, with
	 * the template of the path and never a phone number. An iteration has a span for each page, a lookup one for each 100
	 * numbers.
	 */
	tracer?: Tracer | undefined;
	/** Called when a valid response has something that the contract does not know, such as a new field or status. */
	onContractDrift?: ((drift: ContractDrift) => unknown) | undefined;
	/**
	 * The only numbers that may be sent to, or a function that returns exactly `true` for them. A send to another number
	 * fails with `PartnerInvalidInput` before any request. It keeps a staging system from writing to real people.
	 * @default everyone
	 */
	allowRecipients?: Recipients | undefined;
	/** Your application, added to the User-Agent. Characters other than letters, digits, `.`, `_` and `-` become `-`. */
	appInfo?:
		| {
				/** 1 to 64 ASCII characters. */
				name: string;
				/** 1 to 64 ASCII characters. */
				version?: string | undefined;
		  }
		| undefined;
	/**
	 * Country in which a number without `+` or `00` is read.
	 * @default "BE"
	 */
	defaultCountry?: CountryCode | undefined;
	/**
	 * Allows the client in a browser page. `createClient` throws there otherwise, because everybody could read the key.
	 * @default false
	 */
	dangerouslyAllowBrowser?: boolean | undefined;
}

const isWord = (value: unknown): boolean => typeof value === "string" && /^[\x20-\x7e]{1,64}$/.test(value);
const word = rule<string>(isWord, "must be 1 to 64 ASCII characters");

const isKey = (value: unknown): boolean => typeof value === "string" || typeof value === "function";
const isLogger = (value: unknown): boolean => hasMethods(value, "debug", "info", "warn", "error");
const isRecipients = (value: unknown): boolean => Array.isArray(value) || typeof value === "function";

const schema = object({
	baseUrl: optional(rule<string>((value) => typeof value === "string", "must be a string")),
	apiKey: optional(rule<ApiKey>(isKey, "must be a string, or a function that returns one")),
	fetch: optional(callable<Fetch>()),
	http: optional(callable<Exchange>()),
	...sharedOptions,
	logger: optional(rule<Logger>(isLogger, "must have debug, info, warn and error")),
	onAttempt: optional(callable<(event: AttemptEvent) => unknown>()),
	onContractDrift: optional(callable<(drift: ContractDrift) => unknown>()),
	tracer: optional(rule<Tracer>((value) => hasMethods(value, "startSpan"), "must have startSpan")),
	allowRecipients: optional(rule<Recipients>(isRecipients, "must be a list of phone numbers, or a function")),
	appInfo: optional(object({ name: word, version: optional(word) })),
	defaultCountry: optional(rule<CountryCode>(isCountry, countryRule)),
	dangerouslyAllowBrowser: optional(flag),
});

/** Checks the options and returns a copy. */
export function checkClientOptions(options: ClientOptions): ValueOf<typeof schema> {
	const checked = checkInput(schema, options, "options", {}, PartnerConfigurationError);
	if (checked.fetch && checked.http) {
		throw new PartnerConfigurationError({ field: "http", rule: "must not be given together with fetch" });
	}
	return checked;
}
