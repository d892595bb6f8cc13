import type { AgencyControl } from "./agency.ts";
import type { FaultControl } from "./faults.ts";
import type { FlowControl } from "./flow.ts";
import type { Sandbox, Snapshot } from "./index.ts";
import { aString, assertValid, fields, isRecord, optional, type Rule } from "./strict.ts";
import { type Call, textIn } from "./wire.ts";

/** What a control route answers. */
export interface ControlAnswer {
	readonly status: number;
	readonly result: unknown;
}

interface Asked {
	readonly sandbox: Sandbox;
	readonly agency: AgencyControl;
	/** The segment between noun and verb: a phone number, an id. */
	readonly id: string;
	/** The body's fields, by known names; what each may be is for the control to say. */
	readonly given: Readonly<Record<string, unknown>>;
	readonly handles: Handles;
}

/** What an earlier request made and a later one names by number. */
interface Handles {
	readonly flows: Map<string, FlowControl>;
	readonly faults: Map<string, FaultControl>;
	readonly snapshots: Map<string, Snapshot>;
}

type Control = (asked: Asked) => unknown;

/** Hands JSON as it is to a control: each checks its arguments itself, by strict.ts. */
function pass<Arguments extends unknown[], Result>(verb: (...given: Arguments) => Result, ...given: unknown[]): Result {
	return Reflect.apply(verb, undefined, given);
}

const contact = ({ agency, id }: Asked) => agency.contact(id);
const conversation = ({ agency, id }: Asked) => agency.conversation(id);
const message = ({ sandbox, id }: Asked) => sandbox.message(/^\d+$/.test(id) ? Number(id) : id);

/** Each control by verb and path, then the fields that its body may have. */
const controls: Readonly<Record<string, Control>> = {
	"POST contacts/{phone} name": ({ agency, id, given }) => {
		const { phoneNumber, name } = pass(agency.contact, id, given);
		return { phoneNumber, name };
	},
	"POST contacts/{phone}/writes text body media replyTo": (asked) => {
		const { text, ...rest } = asked.given;
		assertValid("writes: text", text, optional(aString));
		return pass(contact(asked).writes, text === undefined ? rest : { body: text, ...rest });
	},
	"POST contacts/{phone}/taps code": (asked) => pass(contact(asked).taps, asked.given.code),
	"POST contacts/{phone}/accepts": (asked) => contact(asked).accepts(),
	"POST contacts/{phone}/declines": (asked) => contact(asked).declines(),
	"GET contacts/{phone}/inbox": (asked) => contact(asked).inbox(),
	"POST contacts/{phone}/startFlow": ({ agency, id, handles }) => {
		const flow = agency.startFlow(id);
		return { id: keep(handles.flows, flow), status: flow.status };
	},
	"POST flows/{id}/wait": ({ handles, id }) => statusOf(named(handles.flows, id).wait()),
	"POST flows/{id}/complete": ({ handles, id }) => statusOf(named(handles.flows, id).complete()),
	"POST flows/{id}/cancel": ({ handles, id }) => statusOf(named(handles.flows, id).cancel()),
	"POST flows/{id}/fail": ({ handles, id }) => statusOf(named(handles.flows, id).fail()),
	"POST flows/{id}/timeout": ({ handles, id }) => statusOf(named(handles.flows, id).timeout()),
	"POST flows/{id}/set status": ({ handles, id, given }) => statusOf(pass(named(handles.flows, id).set, given.status)),
	"POST staff/setAi contact on": ({ agency, given }) => pass(agency.staff.setAi, given.contact, given.on),
	"POST staff/sends contact text": ({ agency, given }) => pass(agency.staff.sends, given.contact, given.text),
	"POST ai/replies contact text": ({ agency, given }) => pass(agency.ai.replies, given.contact, given.text),
	"POST consent/set configured languages defaultLanguage flowCodes missingFlowCodes missingTemplates unapprovedTemplates answerWithinHours":
		({ agency, given }) => pass(agency.consent.set, given),
	"GET senders": ({ agency }) => agency.senders.ids,
	"POST senders/set ids": ({ agency, given }) => pass(agency.senders.set, given.ids),
	"POST storesMedia on": ({ agency, given }) => pass(agency.storesMedia, given.on),
	"POST conversations/{phone}/open": (asked) => conversation(asked).open(),
	"POST conversations/{phone}/visibleAs reason": (asked) => pass(conversation(asked).visibleAs, asked.given.reason),
	"POST conversations/{phone}/share on": (asked) => pass(conversation(asked).share, asked.given.on),
	"POST conversations/{phone}/hide": (asked) => conversation(asked).hide(),
	"POST conversations/{phone}/takeOver times": (asked) => pass(conversation(asked).takeOver, asked.given),
	"POST link name consent senders storesMedia": ({ sandbox, agency, given }) => {
		// Without a body it links the agency that the path names; with one it makes an agency.
		if (Object.keys(given).length === 0) return agency.link();
		const { id, name } = pass(sandbox.link, given);
		return { id, name };
	},
	"POST unlink": ({ agency }) => agency.unlink(),
	"POST rename name": ({ agency, given }) => pass(agency.rename, given.name),
	"GET agency": ({ agency: { id, name } }) => ({ id, name }),
	"POST integration/hide": ({ sandbox }) => sandbox.integration.hide(),
	"POST integration/restore": ({ sandbox }) => sandbox.integration.restore(),
	"POST integrations/add name": ({ sandbox, given }) => {
		const { id, name, apiKey } = pass(sandbox.integrations.add, given);
		return { id, name, apiKey };
	},
	"POST messages/{id}/sent": (asked) => message(asked).sent(),
	"POST messages/{id}/delivered": (asked) => message(asked).delivered(),
	"POST messages/{id}/read": (asked) => message(asked).read(),
	"POST messages/{id}/failed errorCode": (asked) => pass(message(asked).failed, asked.given),
	"POST messages/{id}/undelivered errorCode": (asked) => pass(message(asked).undelivered, asked.given),
	"POST messages/{id}/set status errorCode": (asked) => {
		const { status, ...rest } = asked.given;
		return pass(message(asked).set, status, rest);
	},
	"GET keys": ({ sandbox }) => sandbox.keys.list(),
	"POST keys/create scopes": ({ sandbox, given }) => pass(sandbox.keys.create, given),
	"POST keys/{id}/revoke": ({ sandbox, id }) => sandbox.keys.revoke(id),
	"POST keys/{id}/expire": ({ sandbox, id }) => sandbox.keys.expire(id),
	"POST keys/{id}/setScopes scopes": ({ sandbox, id, given }) => pass(sandbox.keys.setScopes, id, given.scopes),
	"GET clock": ({ sandbox }) => ({ now: sandbox.clock.now().toISOString() }),
	"POST clock/advance hours minutes ms": ({ sandbox, given }) => {
		pass(sandbox.clock.advance, given);
		return { now: sandbox.clock.now().toISOString() };
	},
	"POST clock/advanceTo at": ({ sandbox, given }) => {
		pass(sandbox.clock.advanceTo, given.at);
		return { now: sandbox.clock.now().toISOString() };
	},
	"GET faults": ({ sandbox }) => sandbox.faults.unused(),
	"POST faults/add operation times skip phase effect": ({ sandbox, given, handles }) => {
		const times = given.times === null ? { times: Number.POSITIVE_INFINITY } : {}; // JSON has no Infinity
		const added = pass(sandbox.faults.add, { ...given, ...times });
		return faultOf(keep(handles.faults, added), added);
	},
	"POST faults/clear": ({ sandbox }) => sandbox.faults.clear(),
	"GET faults/{id}": ({ handles, id }) => faultOf(id, named(handles.faults, id)),
	"POST faults/{id}/remove": ({ handles, id }) => named(handles.faults, id).remove(),
	"GET requests": ({ sandbox }) => sandbox.requests(),
	"GET violations": ({ sandbox }) => sandbox.violations(),
	"POST snapshot": ({ sandbox, handles }) => ({ snapshot: keep(handles.snapshots, sandbox.snapshot()) }),
	"POST restore snapshot": ({ sandbox, given, handles }) => {
		assertValid("restore: snapshot", given.snapshot, aString);
		return sandbox.restore(named(handles.snapshots, given.snapshot));
	},
	"GET export": ({ sandbox }) => sandbox.export(),
	"POST import format version now counters integrations keys agencies ledger faults": ({ sandbox, given }) =>
		pass(sandbox.import, given),
	"POST reset": ({ sandbox }) => sandbox.reset(),
	"POST tell scenario": ({ sandbox, given }) => pass(sandbox.tell, given.scenario),
};

const anything: Rule = () => undefined;

/** The same, by verb and path alone; what stands for a phone or an id is a colon. */
const table = new Map(
	Object.entries(controls).map(([key, control]) => {
		const [verb = "", path = "", ...takes] = key.split(" ");
		const rule = fields<Record<string, unknown>>(Object.fromEntries(takes.map((name) => [name, anything])));
		return [`${verb} ${path.replace(/\{\w+\}/, ":")}`, { verb, path, takes, rule, control }];
	}),
);

/** What a GET of the root answers, so that the routes are found without this repository. */
const listed = { controls: [...table.values()].map(({ verb, path, takes }) => ({ verb, path, takes })) };

/**
 * The controls over HTTP, for programs that are not JavaScript: docs/sandbox-server.md. `target` is path and query
 * below `/_sandbox`.
 */
export function createControlRoutes(
	sandbox: Sandbox,
): (method: string, target: string, body: Call["body"]) => ControlAnswer {
	const handles: Handles = { flows: new Map(), faults: new Map(), snapshots: new Map() };
	return (method, target, body) => {
		const segments = target.replace(/\?.*$/s, "").split("/").slice(1);
		if (method === "GET" && segments.join("") === "") return { status: 200, result: listed };
		try {
			const below = segments[0] === "agencies";
			const agency = sandbox.agency(below ? decodeURIComponent(segments[1] ?? "") : undefined);
			const [noun = "", second, third, ...rest] = below ? segments.slice(2) : segments;
			const direct = table.get(`${method} ${[noun, second].filter((part) => part !== undefined).join("/")}`);
			const placed = table.get(`${method} ${noun}/:${third === undefined ? "" : `/${third}`}`);
			const found = rest.length > 0 ? undefined : third === undefined && direct ? direct : placed;
			if (!found) return refused(404, "SandboxNotFound", `There is no control ${method} ${target}.`);
			const id = decodeURIComponent(second ?? "");
			const given = fieldsIn(textIn(body), found.rule);
			return { status: 200, result: found.control({ sandbox, agency, id, given, handles }) ?? null };
		} catch (error) {
			return refused(400, "SandboxBadRequest", error instanceof Error ? error.message : String(error));
		}
	};
}

const refused = (status: number, tag: string, message: string): ControlAnswer => ({
	status,
	result: { _tag: tag, message },
});
const statusOf = ({ status }: FlowControl) => ({ status });
const faultOf = (id: string, { hits, remaining }: FaultControl) => ({ id, hits, remaining });

function fieldsIn(body: string, rule: Rule): Readonly<Record<string, unknown>> {
	const given: unknown = body.trim() === "" ? {} : JSON.parse(body);
	assertValid("The body", given, rule);
	return isRecord(given) ? given : {};
}

function keep<Handle>(handles: Map<string, Handle>, handle: Handle): string {
	const id = String(handles.size + 1);
	handles.set(id, handle);
	return id;
}

function named<Handle>(handles: ReadonlyMap<unknown, Handle>, id: unknown): Handle {
	const handle = handles.get(id);
	if (!handle) throw new Error(`There is nothing with the id ${id}.`);
	return handle;
}
