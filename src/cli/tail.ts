import type { Agency } from "messaging-conversations";
import type { Sandbox } from "../sandbox/index.ts";
import {
	type Connection,
	clientOf,
	connectionHelp,
	connectionOptions,
	readConnection,
	remedy,
	startSandbox,
} from "./connection.ts";
import type { Host } from "./host.ts";
import { lookOf } from "./look.ts";
import { type Options, readOptions, UsageError } from "./options.ts";
import { eventsOf, linesOf, type TailEvent } from "./tail/event.ts";
import { createFollower, longestPauseMs } from "./tail/follow.ts";
import { createDateLine, jsonLine, printable } from "./text.ts";

const mostAgencies = 10;
const appInfo = { name: "tail" };

const options = {
	agency: {
		type: "string",
		value: "<id>",
		help: `Follows only this agency. Default all agencies of the key. Required if there are more than ${mostAgencies}.`,
	},
	show: { type: "boolean", default: false, help: "Shows whole numbers and texts." },
	every: {
		type: "string",
		default: "5",
		value: "<seconds>",
		help: `The shortest pause between two polls, from 1 to 3600. Without news pauses grow to ${longestPauseMs / 1_000}. Default 5.`,
	},
	json: { type: "boolean", default: false, help: "Prints one line of JSON for each event." },
	...connectionOptions,
	sandbox: {
		type: "boolean",
		default: false,
		help: "Follows a sandbox of its own, in which a contact writes now and then.",
	},
} as const satisfies Options;

const usage = {
	command: "tail",
	about: `Prints new messages and what changes, as it comes, from now on. It only reads. Ctrl-C stops it.
Numbers are masked and texts are hidden, unless --show is given.`,
	options,
	notes: connectionHelp,
	end: { example: "tail --sandbox --show", page: "command-line" },
};

const notReached = "The key does not reach the agency of --agency. The command doctor lists those that it reaches.";

export const tailCommand = { summary: "Prints new messages and changes as they come.", failure: 1, options, run };

async function run(args: string[], host: Host): Promise<number> {
	const values = readOptions(usage, args, host);
	if (!values) return 0;
	const everyMs = 1000 * (/^\d{1,4}$/.test(values.every) ? Number(values.every) : Number.NaN);
	if (!(everyMs >= 1000 && everyMs <= 3_600_000))
		throw new UsageError("--every must be a number of seconds from 1 to 3600.");
	const stopping = stopAtEnd(host);
	const stop = stopping.signal;
	const local = values.sandbox ? await startSandbox() : undefined;
	if (local) play(local.sandbox, stop);
	try {
		const connection = local?.connection ?? readConnection(values.env, host);
		const { agency: agencyId, show, json } = values;
		const ended = await follow({ connection, agencyId, everyMs, show, json, stop, host });
		// People have read it at once.
		if (json && ended.length > 0) throw new Error(ended.join(" "));
		return ended.length === 0 ? 0 : 1;
	} finally {
		stopping.abort();
		await local?.close();
	}
}

interface Follow {
	readonly connection: Connection;
	readonly agencyId: string | undefined;
	readonly everyMs: number;
	readonly show: boolean;
	readonly json: boolean;
	readonly stop: AbortSignal;
	readonly host: Host;
}

/** Follows the agencies until the signal. Resolves with why some could not be followed on. */
async function follow({ connection, agencyId, everyMs, show, json, stop, host }: Follow): Promise<string[]> {
	const agencies = await agenciesOf({ connection, agencyId, stop, host });
	if (stop.aborted) return [];
	const dateLine = createDateLine(new Date());
	// In a pipe, each event is one line.
	const columns = (): number => (host.terminal.isTTY ? lookOf(host).columns() : Number.POSITIVE_INFINITY);
	const print = (event: TailEvent): void => {
		for (const line of json ? [] : dateLine(event.at)) host.print(line);
		for (const line of json ? [jsonLine(event)] : linesOf(event, columns())) host.print(line);
	};
	const followed = agencies.map(async (agency) => {
		const seen = new Set<string>();
		const { run, attempted } = createFollower({
			everyMs,
			signal: stop,
			onChange(change) {
				for (const event of eventsOf(change, agency, { show, seen })) print(event);
			},
			// On stderr, so that a program that reads the events gets nothing else.
			onProblem: (text) => host.printError(`! ${nameOf(agency)}: ${printable(text)}`),
		});
		const client = clientOf(connection, { fetch: host.fetch, onAttempt: attempted, appInfo });
		const ended = await run(client.agency(agency.id));
		return ended === undefined ? [] : [`${nameOf(agency)}: ${printable(ended)}`];
	});
	host.printError(`Following ${agencies.map(nameOf).join(", ")} from now on. Ctrl-C stops it.`);
	return (await Promise.all(followed)).flat();
}

function nameOf({ id, name }: Agency): string {
	return printable(name ?? id);
}

/** The agencies to follow; none when the signal comes first. */
async function agenciesOf(asked: Pick<Follow, "connection" | "agencyId" | "stop" | "host">): Promise<Agency[]> {
	const { agencyId, stop } = asked;
	const agencies = await readAgencies(asked);
	if (stop.aborted) return [];
	const chosen = agencyId === undefined ? agencies : agencies.filter(({ id }) => id === agencyId);
	if (chosen.length === 0) throw new Error(agencyId === undefined ? "No agency is linked." : notReached);
	if (chosen.length > mostAgencies)
		throw new Error(`The key reaches ${chosen.length} agencies: name one with --agency.`);
	return chosen;
}

async function readAgencies({ connection, stop, host }: Pick<Follow, "connection" | "stop" | "host">) {
	const client = clientOf(connection, { fetch: host.fetch, appInfo });
	try {
		return (await client.me.get({ signal: stop })).agencies;
	} catch (error) {
		if (stop.aborted) return [];
		const reason = error instanceof Error ? error.message : String(error);
		throw new Error(`${reason.replace(/\.$/, "")}. ${remedy}`);
	}
}

/** Aborts at Ctrl-C, with the npx that started this process, and when the output has no reader any more. */
function stopAtEnd({ onStop, onOutputClosed }: Host): AbortController {
	const stop = new AbortController();
	const end = (): void => stop.abort();
	onStop(end);
	onOutputClosed(end);
	return stop;
}

const exchangeEveryMs = 4_000;

/** Lets a contact of the sandbox write now and then, and the agency's AI reply. */
function play(sandbox: Sandbox, stop: AbortSignal): void {
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101");
	const timer = setInterval(() => {
		anna.writes("Is the flat still free?");
		agency.ai.replies({ contact: anna, text: "It is. Shall we plan a visit?" });
		anna.reads();
	}, exchangeEveryMs);
	stop.addEventListener("abort", () => clearInterval(timer));
}
