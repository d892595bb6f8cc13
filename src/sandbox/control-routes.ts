/**
 * The controls over HTTP, for programs that are not JavaScript. The path is the control's own name, the body a JSON
 * object of its arguments by name, the answer `200` with the result as JSON; `GET` reads, `POST` acts:
 *
 *     POST /_sandbox/contacts/+447700900101           {"name": "Anna"}
 *     POST /_sandbox/contacts/+447700900101/writes    {"text": "Hello"}  or  {"body": null, "media": [{"url": "…"}]}
 *     POST /_sandbox/contacts/+447700900101/accepts   → {"hadHeldText": true}
 *     GET  /_sandbox/contacts/+447700900101/inbox
 *     POST /_sandbox/contacts/+447700900101/startFlow → {"id": 1, "status": "active"}
 *     POST /_sandbox/flows/1/complete
 *     POST /_sandbox/staff/sends                      {"contact": "+447700900101", "text": "I'll call you."}
 *     POST /_sandbox/conversations/+447700900101/takeOver  {"times": 1}
 *     POST /_sandbox/messages/SM…/failed              {"errorCode": 63016}
 *     POST /_sandbox/keys/create                      {"scopes": ["conversations:read"]}
 *     POST /_sandbox/faults/add                       {"operation": "messages.send", "effect": {"status": 503}}
 *     GET  /_sandbox/faults/1                         → {"id": 1, "hits": 0, "remaining": 1}
 *     POST /_sandbox/clock/advance                    {"hours": 25}
 *     GET  /_sandbox/requests
 *
 * `/_sandbox/agencies/{id}/…` before any of them speaks of that agency, not of the default one. A wrong argument is
 * 400 `SandboxBadRequest`, an unknown control 404 `SandboxNotFound`. Without end (`Infinity`) is null in JSON.
 */
import type { AgencyControl } from "./agency.ts";
import { type Arguments, argumentsFrom } from "./arguments.ts";
import type { FaultControl } from "./controls.ts";
import type { FlowControl } from "./flow.ts";
import type { Sandbox, Scope, Snapshot } from "./index.ts";

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
	readonly given: Arguments;
	readonly handles: Handles;
}

/** What an earlier request made and a later one names by number. */
interface Handles {
	readonly flows: Map<string, FlowControl>;
	readonly faults: Map<string, FaultControl>;
	readonly snapshots: Map<string, Snapshot>;
}

type Control = (asked: Asked) => unknown;

/** Hands JSON as it is to a control that checks its argument itself. */
function pass<Argument, Result>(verb: (argument: Argument) => Result, argument: unknown): Result {
	return Reflect.apply(verb, undefined, [argument]);
}

const contact = ({ agency, id }: Asked) => agency.contact(id);
const conversation = ({ agency, id }: Asked) => agency.conversation(id);
const message = ({ sandbox, id }: Asked) => sandbox.message(/^\d+$/.test(id) ? Number(id) : id);

const controls: Readonly<Record<string, Control>> = {
	"POST contacts/:": ({ agency, id, given }) => {
		const { phoneNumber, name } = agency.contact(id, given.has("name") ? { name: given.stringOrNull("name") } : {});
		return { phoneNumber, name };
	},
	"POST contacts/:/writes": (asked) =>
		asked.given.has("text")
			? contact(asked).writes(asked.given.string("text"))
			: pass(contact(asked).writes, asked.given.all),
	"POST contacts/:/taps": (asked) => contact(asked).taps(asked.given.string("code")),
	"POST contacts/:/accepts": (asked) => contact(asked).accepts(),
	"POST contacts/:/declines": (asked) => contact(asked).declines(),
	"GET contacts/:/inbox": (asked) => contact(asked).inbox(),
	"POST contacts/:/startFlow": ({ agency, id, handles }) => {
		const flow = agency.startFlow(id);
		return { id: keep(handles.flows, flow), status: flow.status };
	},
	"POST flows/:/wait": ({ handles, id }) => statusOf(named(handles.flows, id).wait()),
	"POST flows/:/complete": ({ handles, id }) => statusOf(named(handles.flows, id).complete()),
	"POST flows/:/cancel": ({ handles, id }) => statusOf(named(handles.flows, id).cancel()),
	"POST flows/:/fail": ({ handles, id }) => statusOf(named(handles.flows, id).fail()),
	"POST flows/:/timeout": ({ handles, id }) => statusOf(named(handles.flows, id).timeout()),
	"POST flows/:/set": ({ handles, id, given }) => statusOf(named(handles.flows, id).set(given.string("status"))),
	"POST staff/setAi": ({ agency, given }) => agency.staff.setAi(given.string("contact"), given.boolean("on")),
	"POST staff/sends": ({ agency, given }) => agency.staff.sends(given.string("contact"), given.string("text")),
	"POST ai/replies": ({ agency, given }) => agency.ai.replies(given.string("contact"), given.string("text")),
	"POST consent/set": ({ agency, given }) => pass(agency.consent.set, given.all),
	"GET senders": ({ agency }) => agency.senders.ids,
	"POST senders/set": ({ agency, given }) => agency.senders.set(given.strings("ids")),
	"POST storesMedia": ({ agency, given }) => agency.storesMedia(given.boolean("on")),
	"POST conversations/:/open": (asked) => conversation(asked).open(),
	"POST conversations/:/visibleAs": (asked) => pass(conversation(asked).visibleAs, asked.given.string("reason")),
	"POST conversations/:/share": (asked) =>
		conversation(asked).share(!asked.given.has("on") || asked.given.boolean("on")),
	"POST conversations/:/hide": (asked) => conversation(asked).hide(),
	"POST conversations/:/takeOver": (asked) => conversation(asked).takeOver({ times: asked.given.number("times") ?? 1 }),
	"POST link": ({ sandbox, agency, given }) => {
		// Below an agency it links that agency, else it makes one.
		if (!given.has("name")) return agency.link();
		const { id, name } = sandbox.link({ name: given.stringOrNull("name") });
		return { id, name };
	},
	"POST unlink": ({ agency }) => agency.unlink(),
	"POST rename": ({ agency, given }) => agency.rename(given.stringOrNull("name")),
	"GET agency": ({ agency: { id, name } }) => ({ id, name }),
	"POST integration/hide": ({ sandbox }) => sandbox.integration.hide(),
	"POST integration/restore": ({ sandbox }) => sandbox.integration.restore(),
	"POST integrations/add": ({ sandbox, given }) => {
		const { id, name, apiKey } = sandbox.integrations.add({ name: given.string("name") });
		return { id, name, apiKey };
	},
	"POST messages/:/sent": (asked) => message(asked).sent(),
	"POST messages/:/delivered": (asked) => message(asked).delivered(),
	"POST messages/:/read": (asked) => message(asked).read(),
	"POST messages/:/failed": (asked) => message(asked).failed({ errorCode: asked.given.number("errorCode") ?? null }),
	"POST messages/:/undelivered": (asked) =>
		message(asked).undelivered({ errorCode: asked.given.number("errorCode") ?? null }),
	"POST messages/:/set": (asked) =>
		message(asked).set(asked.given.string("status"), { errorCode: asked.given.number("errorCode") ?? null }),
	"GET keys": ({ sandbox }) => sandbox.keys.list(),
	"POST keys/create": ({ sandbox, given }) => pass(sandbox.keys.create, given.all),
	"POST keys/:/revoke": ({ sandbox, id }) => sandbox.keys.revoke(id),
	"POST keys/:/expire": ({ sandbox, id }) => sandbox.keys.expire(id),
	"POST keys/:/setScopes": ({ sandbox, id, given }) =>
		pass((scopes: readonly Scope[]) => sandbox.keys.setScopes(id, scopes), given.strings("scopes")),
	"GET clock": ({ sandbox }) => ({ now: sandbox.clock.now().toISOString() }),
	"POST clock/advance": ({ sandbox, given }) => {
		const [hours, minutes, ms] = [given.number("hours"), given.number("minutes"), given.number("ms")];
		sandbox.clock.advance({ hours: hours ?? 0, minutes: minutes ?? 0, ms: ms ?? 0 });
		return { now: sandbox.clock.now().toISOString() };
	},
	"POST clock/advanceTo": ({ sandbox, given }) => {
		sandbox.clock.advanceTo(given.string("at"));
		return { now: sandbox.clock.now().toISOString() };
	},
	"GET faults": ({ sandbox }) => sandbox.faults.unused(),
	"POST faults/add": ({ sandbox, given, handles }) => {
		const times = given.all.times === null ? { times: Number.POSITIVE_INFINITY } : {};
		const added = pass(sandbox.faults.add, { ...given.all, ...times });
		return faultOf(keep(handles.faults, added), added);
	},
	"POST faults/clear": ({ sandbox }) => sandbox.faults.clear(),
	"GET faults/:": ({ handles, id }) => faultOf(id, named(handles.faults, id)),
	"POST faults/:/remove": ({ handles, id }) => named(handles.faults, id).remove(),
	"GET requests": ({ sandbox }) => sandbox.requests(),
	"GET violations": ({ sandbox }) => sandbox.violations(),
	"POST snapshot": ({ sandbox, handles }) => ({ snapshot: keep(handles.snapshots, sandbox.snapshot()) }),
	"POST restore": ({ sandbox, given, handles }) => sandbox.restore(named(handles.snapshots, given.string("snapshot"))),
	"GET export": ({ sandbox }) => sandbox.export(),
	"POST import": ({ sandbox, given }) => pass(sandbox.import, given.all),
	"POST reset": ({ sandbox }) => sandbox.reset(),
	"POST tell": ({ sandbox, given }) => pass(sandbox.tell, given.string("scenario")),
};

/** The control routes of one sandbox: `target` is path and query below `/_sandbox`. */
export function createControlRoutes(sandbox: Sandbox): (method: string, target: string, body: string) => ControlAnswer {
	const handles: Handles = { flows: new Map(), faults: new Map(), snapshots: new Map() };
	return (method, target, body) => {
		const segments = target.replace(/\?.*$/s, "").split("/").slice(1);
		try {
			const agency =
				segments[0] === "agencies" ? sandbox.agency(decodeURIComponent(segments[1] ?? "")) : sandbox.agency();
			const [noun = "", second, third, ...rest] = segments[0] === "agencies" ? segments.slice(2) : segments;
			const direct = controls[`${method} ${[noun, second].filter((part) => part !== undefined).join("/")}`];
			const keys = third === undefined ? `${method} ${noun}/:` : `${method} ${noun}/:/${third}`;
			const control = rest.length > 0 ? undefined : third === undefined && direct ? direct : controls[keys];
			if (!control) return refused(404, "SandboxNotFound", `There is no control ${method} ${target}.`);
			const id = decodeURIComponent(second ?? "");
			return { status: 200, result: control({ sandbox, agency, id, given: argumentsFrom(body), handles }) ?? null };
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

function keep<Handle>(handles: Map<string, Handle>, handle: Handle): string {
	const id = String(handles.size + 1);
	handles.set(id, handle);
	return id;
}

function named<Handle>(handles: ReadonlyMap<string, Handle>, id: string): Handle {
	const handle = handles.get(id);
	if (!handle) throw new Error(`There is nothing with the id ${id}.`);
	return handle;
}
