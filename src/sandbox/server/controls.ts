import { optional } from "../../validation.ts";
import { aString, assertValid, fields, oneOf } from "../base/input.ts";
import type { AgencyControl } from "../controls/agency.ts";
import type { Contact } from "../controls/contact.ts";
import type { FaultControl } from "../controls/faults.ts";
import type { FlowControl } from "../controls/flow.ts";
import type { IntegrationControl } from "../controls/integration.ts";
import { scenarioNames } from "../controls/scenarios.ts";
import type { Sandbox, Snapshot } from "../index.ts";
import { consentFields } from "../world/consent.ts";

/** The arguments of a control route. */
export interface Asked {
	readonly sandbox: Sandbox;
	/** Address at which the sandbox listens. */
	readonly baseUrl: string;
	readonly integration: IntegrationControl;
	readonly agency: AgencyControl;
	/** The segment between noun and verb: a phone number, an id. */
	readonly id: string;
	/** The body's fields, by known names; each control checks what they hold. */
	readonly given: Readonly<Record<string, unknown>>;
	/** The snapshots that were taken over HTTP, by number. */
	readonly snapshots: Map<string, Snapshot>;
}

type Control = (asked: Asked) => unknown;

/** A query has words only. */
const checkRule = fields<{ allowReplaced?: string }>({ allowReplaced: optional(oneOf("true", "false")) });

/** Hands JSON as it is to a control, which checks its arguments itself. */
function pass<Arguments extends unknown[], Result>(verb: (...given: Arguments) => Result, ...given: unknown[]): Result {
	return Reflect.apply(verb, undefined, given);
}

const contact = ({ agency, id }: Asked) => agency.contact(id);
const conversation = ({ agency, id }: Asked) => agency.conversation(id);
const flow = ({ sandbox, id }: Asked) => sandbox.flow(id);
const message = ({ sandbox, id }: Asked) => sandbox.message(/^\d+$/.test(id) ? Number(id) : id);

const contactOf = ({ phoneNumber, name }: Contact) => ({ phoneNumber, name });
const statusOf = ({ status }: FlowControl) => ({ status });
const nowOf = ({ sandbox }: Asked) => ({ now: sandbox.clock.now().toISOString() });
const integrationOf = ({ id, name, hidden, apiKey }: IntegrationControl) => ({ id, name, hidden, apiKey });
// JSON has no Infinity.
const faultOf = ({ id, hits, remaining }: FaultControl) => ({
	id,
	hits,
	remaining: Number.isFinite(remaining) ? remaining : null,
});

/** A message of which `text` is the body. */
function messageIn(control: string, { text, ...rest }: Asked["given"]): object {
	assertValid(`${control}: text`, text, optional(aString));
	if (text !== undefined && rest.body !== undefined)
		throw new TypeError(`${control}: text and body are the same: give one.`);
	return text === undefined ? rest : { body: text, ...rest };
}

/** Each control by verb and path, then the fields that its body may have. */
export const controls: Readonly<Record<string, Control>> = {
	"GET connection": ({ sandbox, baseUrl }) => ({
		baseUrl,
		apiKey: sandbox.connection.apiKey,
		agencyId: sandbox.agency().id,
	}),
	"GET contacts": ({ agency }) => agency.contacts().map(contactOf),
	"GET contacts/{phone}": (asked) => contact(asked).state(),
	"POST contacts/{phone} name": ({ agency, id, given }) => contactOf(pass(agency.contact, id, given)),
	"POST contacts/{phone}/writes text body media replyTo": (asked) =>
		pass(contact(asked).writes, messageIn("writes", asked.given)),
	"POST contacts/{phone}/taps code": (asked) => pass(contact(asked).taps, asked.given.code),
	"POST contacts/{phone}/accepts": (asked) => contact(asked).accepts(),
	"POST contacts/{phone}/declines": (asked) => contact(asked).declines(),
	"POST contacts/{phone}/reads": (asked) => contact(asked).reads(),
	"POST contacts/{phone}/setReachable on": (asked) => pass(contact(asked).setReachable, asked.given.on),
	"GET contacts/{phone}/inbox": (asked) => contact(asked).inbox(),
	"POST contacts/{phone}/startFlow": ({ agency, id }) => {
		const started = agency.startFlow(id);
		return { id: started.id, status: started.status };
	},
	"POST flows/{id}/wait": (asked) => statusOf(flow(asked).wait()),
	"POST flows/{id}/complete": (asked) => statusOf(flow(asked).complete()),
	"POST flows/{id}/cancel": (asked) => statusOf(flow(asked).cancel()),
	"POST flows/{id}/fail": (asked) => statusOf(flow(asked).fail()),
	"POST flows/{id}/timeout": (asked) => statusOf(flow(asked).timeout()),
	"POST flows/{id}/set status": (asked) => statusOf(pass(flow(asked).set, asked.given.status)),
	"POST staff/setAi contact on": ({ agency, given }) => pass(agency.staff.setAi, given.contact, given.on),
	"POST staff/sends contact text": ({ agency, given }) => pass(agency.staff.sends, given.contact, given.text),
	"POST ai/replies contact text body templateName interactiveContent": ({ agency, given }) => {
		const { contact, ...message } = given;
		return pass(agency.ai.replies, contact, messageIn("ai.replies", message));
	},
	"GET agencies": ({ sandbox }) => sandbox.agencies().map((agency) => agency.state()),
	"GET agency": ({ agency: { id, name } }) => ({ id, name }),
	"POST link name consent senders storesMedia": ({ integration, agency, given }) => {
		// Without a body it links the agency that the path names; with one it makes an agency.
		if (Object.keys(given).length === 0) return agency.link();
		const { id, name } = pass(integration.link, given);
		return { id, name };
	},
	"POST unlink": ({ agency }) => agency.unlink(),
	"POST rename name": ({ agency, given }) => pass(agency.rename, given.name),
	[`POST consent/set ${consentFields.join(" ")}`]: ({ agency, given }) => pass(agency.consent.set, given),
	"GET senders": ({ agency }) => agency.senders.ids,
	"POST senders/set ids": ({ agency, given }) => pass(agency.senders.set, given.ids),
	"POST storesMedia on": ({ agency, given }) => pass(agency.storesMedia, given.on),
	"GET conversations": ({ agency }) => agency.conversations(),
	"GET conversations/{phone}": (asked) => conversation(asked).state(),
	"POST conversations/{phone}/open": (asked) => conversation(asked).open(),
	"POST conversations/{phone}/visibleAs reason": (asked) => pass(conversation(asked).visibleAs, asked.given.reason),
	"POST conversations/{phone}/share on": (asked) => pass(conversation(asked).share, asked.given.on),
	"POST conversations/{phone}/shareWith agency reason": (asked) => {
		const { agency, ...rest } = asked.given;
		return pass(conversation(asked).shareWith, agency, rest);
	},
	"POST conversations/{phone}/hide": (asked) => conversation(asked).hide(),
	"POST conversations/{phone}/takeOver times": (asked) => pass(conversation(asked).takeOver, asked.given),
	"POST messages/{id}/sent": (asked) => message(asked).sent(),
	"POST messages/{id}/delivered": (asked) => message(asked).delivered(),
	"POST messages/{id}/read": (asked) => message(asked).read(),
	"POST messages/{id}/failed errorCode": (asked) => pass(message(asked).failed, asked.given),
	"POST messages/{id}/undelivered errorCode": (asked) => pass(message(asked).undelivered, asked.given),
	"POST messages/{id}/set status errorCode": (asked) => {
		const { status, ...rest } = asked.given;
		return pass(message(asked).set, status, rest);
	},
	"GET integrations": ({ sandbox }) => sandbox.integrations.list().map(integrationOf),
	"POST integrations/add name": ({ sandbox, given }) => integrationOf(pass(sandbox.integrations.add, given)),
	"POST integration/hide": ({ integration }) => integration.hide(),
	"POST integration/restore": ({ integration }) => integration.restore(),
	"GET keys": ({ integration }) => integration.keys.list(),
	"POST keys/create scopes": ({ integration, given }) => pass(integration.keys.create, given),
	"POST keys/{id}/revoke": ({ integration, id }) => integration.keys.revoke(id),
	"POST keys/{id}/expire": ({ integration, id }) => integration.keys.expire(id),
	"POST keys/{id}/setScopes scopes": ({ integration, id, given }) => pass(integration.keys.setScopes, id, given.scopes),
	"GET clock": nowOf,
	"POST clock/advance hours minutes ms": (asked) => {
		pass(asked.sandbox.clock.advance, asked.given);
		return nowOf(asked);
	},
	"POST clock/advanceTo at": (asked) => {
		pass(asked.sandbox.clock.advanceTo, asked.given.at);
		return nowOf(asked);
	},
	"GET faults": ({ sandbox }) => sandbox.faults.unused(),
	"POST faults/add operation times skip phase effect": ({ sandbox, given }) => {
		const times = given.times === null ? { times: Number.POSITIVE_INFINITY } : {};
		return faultOf(pass(sandbox.faults.add, { ...given, ...times }));
	},
	"POST faults/clear": ({ sandbox }) => sandbox.faults.clear(),
	"GET faults/{id}": ({ sandbox, id }) => faultOf(sandbox.faults.get(id)),
	"POST faults/{id}/remove": ({ sandbox, id }) => sandbox.faults.get(id).remove(),
	"GET requests": ({ sandbox }) => sandbox.requests(),
	"GET violations": ({ sandbox }) => sandbox.violations(),
	"GET check allowReplaced": ({ sandbox, given }) => {
		assertValid("check", given, checkRule);
		try {
			sandbox.check({ allowReplaced: given.allowReplaced === "true" });
			return { ok: true, message: null };
		} catch (error) {
			return { ok: false, message: error instanceof Error ? error.message : String(error) };
		}
	},
	"GET policy": ({ sandbox }) => sandbox.policy,
	"GET scenarios": () => scenarioNames,
	"POST snapshot": ({ sandbox, snapshots }) => {
		const snapshot = String(snapshots.size + 1);
		snapshots.set(snapshot, sandbox.snapshot());
		return { snapshot };
	},
	"POST restore snapshot": ({ sandbox, given, snapshots }) => {
		assertValid("restore: snapshot", given.snapshot, aString);
		const snapshot = snapshots.get(String(given.snapshot));
		if (!snapshot) throw new Error(`There is no snapshot ${given.snapshot}.`);
		return sandbox.restore(snapshot);
	},
	"GET export": ({ sandbox }) => sandbox.export(),
	"POST import format version now counters integrations keys agencies operations faults": ({ sandbox, given }) =>
		pass(sandbox.import, given),
	"POST reset": ({ sandbox }) => sandbox.reset(),
	"POST loadScenario scenario": ({ sandbox, given }) => pass(sandbox.loadScenario, given.scenario),
};
