import type { CountryCode } from "../phone/phone.ts";
import { defaultRetry, policyFrom } from "./call-options.ts";
import { checkBaseUrl, checkKey, refuseBrowser, userAgentOf } from "./connection.ts";
import { type ConversationsGroup, createConversations } from "./conversations.ts";
import { createFetchExchange } from "./fetch-exchange.ts";
import { createMe, type MeGroup } from "./me.ts";
import { createMessages, type MessagesGroup } from "./messages.ts";
import { createReuseGuard } from "./operation-id.ts";
import { type ClientOptions, checkClientOptions } from "./options.ts";
import { createRecipientCheck } from "./recipients.ts";
import { createSendRequest, type SendRequest } from "./request.ts";
import { createTransport } from "./transport.ts";
import { agencyIdText, checkInput } from "./validate.ts";

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
	 * resolves with unknown JSON. Only a GET is tried again; the errors of other methods have an `outcome`.
	 *
	 * @example
	 * const { agencies } = await client.me.get();
	 * const path = "/agencies/{agencyId}/conversations";
	 * const page = await client.request({ method: "GET", path, agencyId: agencies[0]?.id, query: { pageSize: 10 } });
	 */
	request: SendRequest;
}

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
	const checked = checkClientOptions(options);
	const { defaultCountry = "BE", dangerouslyAllowBrowser = false } = checked;
	refuseBrowser(dangerouslyAllowBrowser);
	const baseUrl = checkBaseUrl(checked.baseUrl);
	checkKey(checked.apiKey, baseUrl);
	const retry = policyFrom(defaultRetry, checked.retry);
	const transport = createTransport({
		...checked,
		baseUrl,
		apiKey: checked.apiKey,
		exchange: checked.http ?? createFetchExchange(checked.fetch),
		retry,
		tokens: { left: retry.budget, max: retry.budget },
		userAgent: userAgentOf(checked.appInfo),
	});
	const guard = createReuseGuard();
	const isAllowed = createRecipientCheck(checked.allowRecipients, defaultCountry);

	return {
		me: createMe(transport),
		defaultCountry,
		agency(agencyId) {
			checkInput(agencyIdText, agencyId, "agencyId", { operation: "agency" });
			return {
				id: agencyId,
				conversations: createConversations(transport, agencyId, defaultCountry),
				messages: createMessages(transport, { agencyId, defaultCountry, isAllowed, guard }),
			};
		},
		request: createSendRequest(transport, baseUrl, checked.allowRecipients !== undefined),
	};
}
