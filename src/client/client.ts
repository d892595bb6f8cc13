import type { CountryCode } from "../phone/phone.ts";
import { createAnswers, withAnswers } from "../shared/copies.ts";
import { type Observer, observedBy, observerOf } from "../shared/observer.ts";
import { withProtocol } from "../shared/protocol.ts";
import type { Call } from "./call.ts";
import type { ClientState } from "./call-state.ts";
import {
	agencyIdText,
	type CallOptions,
	type CheckedOptions,
	type ClientOptions,
	checkBaseUrl,
	checkClientOptions,
	checkInput,
	checkKey,
	defaultRetry,
	derivedOptions,
	policyFrom,
	refuseBrowser,
	sentHeaders,
	userAgentOf,
	withSecretKey,
} from "./client-options.ts";
import { type ConversationsGroup, createConversations } from "./conversations.ts";
import type { RequestError } from "./errors.ts";
import { createExecutor } from "./execute.ts";
import { createFetchTransport } from "./fetch-transport.ts";
import { createMe, type MeGroup } from "./me.ts";
import { createMessages, type MessagesGroup } from "./messages.ts";
import { createReuseGuard, type ReuseGuard } from "./operation-id.ts";
import { createRecipientCheck } from "./recipients.ts";
import { type CustomRequest, createSendRequest } from "./request.ts";

/** The calls of one agency. */
export interface AgencyClient {
	/** The agency's id. */
	id: string;
	/** Reading: `list`, `lookup`, `get` and `listMessages`. Needs the scope `conversations:read`. */
	conversations: ConversationsGroup;
	/** Sending: `send`. Needs the scope `messages:write`. */
	messages: MessagesGroup;
}

/** A client of one API key. Nothing in it uses `this`, so that any part can be destructured. */
export interface Client {
	/** Reading the integration of the key, its agencies and its scopes: `get`. */
	me: MeGroup;
	/** Country in which a number without `+` or `00` is read: the option of that name. */
	defaultCountry: CountryCode;
	/**
	 * Returns the calls of one agency, by its id from `me.get`. It makes no request.
	 *
	 * @throws PartnerInvalidInput when the text cannot be an agency id
	 * @example
	 * const { agencies } = await client.me.get();
	 * for (const { id, name } of agencies) {
	 *   console.log(name, (await client.agency(id).conversations.list().page()).conversations.length);
	 * }
	 */
	agency: (agencyId: string) => AgencyClient;
	/**
	 * Sends a request that this package has no method for, with the key, time limits, errors and events of every call. It
	 * resolves with unknown JSON. Only a GET is retried. The errors of other methods have an `outcome`.
	 *
	 * @example
	 * const path = "/agencies/{agencyId}/conversations";
	 * const page = await client.request({ method: "GET", path, agencyId: agency.id, query: { pageSize: 10 } });
	 */
	request: (request: CustomRequest, options?: CallOptions) => Call<unknown, RequestError>;
	/**
	 * Returns a client with other options for everything that is not given here. It shares the connections and the retry
	 * tokens of this one.
	 *
	 * @throws PartnerConfigurationError that names the option and the rule
	 * @example
	 * const nightly = client.withOptions({ deadline: 120_000, headers: { "x-request-source": "nightly" } });
	 */
	withOptions: (options: DerivedOptions) => Client;
}

/** The options that {@link Client.withOptions} can change. An option that is undefined stays as it is. */
export type DerivedOptions = Omit<
	Partial<ClientOptions>,
	"baseUrl" | "fetch" | "transport" | "dangerouslyAllowBrowser"
>;

/**
 * Creates a client of the Messaging Conversations API. It makes no request and reads no environment variable. A malformed
 * option throws at once; an absent key or base URL fails the first call, because build steps create clients without
 * secrets.
 *
 * @throws PartnerConfigurationError that names the option and the rule
 * @example
 * const client = createClient({
 *   baseUrl: process.env.MESSAGING_BASE_URL, // https://host/api/v1
 *   apiKey: process.env.MESSAGING_API_KEY,
 * });
 */
export function createClient(options: ClientOptions): Client {
	const hidden = withSecretKey(options);
	// So that no frame below an error has the key in a variable.
	options = nothing;
	return create(hidden);
}

/** What is left of options once the key in them is a secret. */
const nothing: ClientOptions = { baseUrl: undefined, apiKey: undefined };

function create(options: unknown): Client {
	const checked = checkClientOptions(options);
	refuseBrowser(checked.dangerouslyAllowBrowser ?? false);
	const { budget } = policyFrom(defaultRetry, checked.retry);
	return clientFrom(checked, {
		transport: checked.transport ?? createFetchTransport(checked.fetch),
		tokens: { left: budget, max: budget },
		service: { hasAnswered: false },
		answers: createAnswers(),
		guard: createReuseGuard(),
		observer: observerOf(checked.fetch),
	});
}

/** What a client shares with those derived from it. */
interface Shared extends Pick<ClientState, "transport" | "tokens" | "service" | "answers"> {
	guard: ReuseGuard;
	/** The sandbox's observer, if `fetch` comes from its connection. */
	observer: Observer | undefined;
}

function clientFrom(options: CheckedOptions, shared: Shared): Client {
	const { defaultCountry = "BE", allowRecipients } = options;
	const baseUrl = checkBaseUrl(options.baseUrl, options.allowInsecureHosts);
	checkKey(options.apiKey, baseUrl);
	const executor = createExecutor({
		...options,
		...shared,
		baseUrl,
		apiKey: options.apiKey,
		retry: policyFrom(defaultRetry, options.retry),
		headers: {
			accept: "application/json",
			...sentHeaders({ "user-agent": userAgentOf(options.appInfo) }),
			...sentHeaders(options.headers ?? {}),
		},
	});
	const isAllowed = createRecipientCheck(allowRecipients, defaultCountry);

	const { observer } = shared;
	const client: Client = {
		me: createMe(executor),
		defaultCountry,
		agency(agencyId) {
			checkInput(agencyIdText, agencyId, "agencyId", { operation: "agency" });
			const agency: AgencyClient = {
				id: agencyId,
				conversations: createConversations(executor, agencyId, defaultCountry),
				messages: createMessages(executor, { agencyId, defaultCountry, isAllowed, guard: shared.guard }),
			};
			return observedBy(withAnswers(withProtocol(agency), shared.answers), observer);
		},
		request: createSendRequest(executor, baseUrl, allowRecipients !== undefined),
		withOptions: (changed) => {
			const hidden = withSecretKey(changed);
			// As in `createClient`.
			changed = nothing;
			return clientFrom(derivedOptions(hidden, options), shared);
		},
	};
	return observedBy(withProtocol(client), observer);
}
