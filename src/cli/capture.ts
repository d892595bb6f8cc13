import { writeFileSync } from "node:fs";
import { type AgencyClient, isPartnerError, type Message } from "messaging-conversations";
import type { BugFile } from "../sandbox/index.ts";
import { isWanted } from "./ask.ts";
import { bugOf, type Captured } from "./capture/bug.ts";
import {
	type Connection,
	clientOf,
	connectionHelp,
	connectionOptions,
	readConnection,
	remedy,
	startSandbox,
} from "./connection.ts";
import { counted } from "./doctor/check.ts";
import type { Host } from "./host.ts";
import { lookOf, mostColumns, wrapped } from "./look.ts";
import { type Options, readOptions, UsageError } from "./options.ts";
import { printable } from "./text.ts";

const options = {
	agency: { type: "string", value: "<id>", help: "The agency of the conversation, as the doctor lists it." },
	contact: { type: "string", value: "<number>", help: "The contact's phone number, in E.164." },
	out: {
		type: "string",
		value: "<file>",
		isFile: true,
		default: "bug.json",
		help: "The file to write, which must not exist. Default bug.json.",
	},
	yes: { type: "boolean", default: false, help: "Writes the file without a question." },
	...connectionOptions,
	sandbox: {
		type: "boolean",
		default: false,
		help: "Captures from a sandbox of its own, to see the command work without a key.",
	},
} as const satisfies Options;

const usage = {
	command: "capture",
	about: `Turns a live conversation into a bug file, for a test or for the sandbox's page. It only reads.
Numbers, names, texts, ids and addresses of files are generated. It shows what it will write, and asks first.`,
	options,
	notes: connectionHelp,
	end: { example: "capture --sandbox --yes", page: "command-line" },
};

export const captureCommand = {
	summary: "Turns a live conversation into a bug file without anybody's data.",
	failure: 1,
	options,
	run,
};

async function run(args: string[], host: Host): Promise<number> {
	const values = readOptions(usage, args, host);
	if (!values) return 0;
	const { agency, contact, sandbox, env, out, yes } = values;
	if (sandbox) {
		const local = await startSandbox();
		const { id, contacts } = local.sandbox.agency();
		const [only] = contacts();
		const wanted = { agencyId: agency ?? id, contact: contact ?? only?.phoneNumber ?? "", out, yes };
		try {
			return await capture(local.connection, wanted, host);
		} finally {
			await local.close();
		}
	}
	if (!agency) throw new UsageError("capture needs --agency. The command doctor lists the agencies of the key.");
	if (!contact) throw new UsageError("capture needs --contact, a phone number in E.164.");
	return capture(readConnection(env, host), { agencyId: agency, contact, out, yes }, host);
}

interface Wanted {
	readonly agencyId: string;
	readonly contact: string;
	readonly out: string;
	readonly yes: boolean;
}

async function capture(connection: Connection, { agencyId, contact, out, yes }: Wanted, host: Host): Promise<number> {
	const appInfo = { name: "capture" };
	const client = clientOf(connection, { fetch: host.fetch, appInfo });
	const captured = await read(client.agency(agencyId), contact);
	const bug = bugOf(captured);
	const columns = Math.min(lookOf(host).columns(), mostColumns);
	for (const text of summaryOf(captured, out)) for (const line of wrapped(text, columns)) host.print(line);
	if (!yes && !(await isWanted(host, "Write it?", "writes the file"))) {
		host.print("Nothing was written.");
		return 1;
	}
	write(out, bug);
	for (const line of wrapped(`Wrote ${out}. Open it: messaging-conversations sandbox ${out}`, columns))
		host.print(line);
	return 0;
}

/** Reads the conversation with all its messages, by GET alone. */
async function read({ conversations }: AgencyClient, contact: string): Promise<Captured> {
	try {
		const { data, response } = await conversations.get(contact, { pageSize: 100 }).withResponse();
		const { conversation, messagePage } = data;
		const messages: Message[] = [...messagePage.messages];
		let cursor = messagePage.nextCursor;
		while (cursor !== null) {
			const page = await conversations.listMessages(contact, { pageSize: 100, cursor }).page();
			messages.push(...page.messages);
			cursor = page.nextCursor;
		}
		const newest = messages.map(({ createdAt }) => Date.parse(createdAt ?? "")).filter(Number.isFinite);
		const date = Date.parse(response.headers.get("date") ?? "");
		// The header has whole seconds, and a message may have come within the last one.
		const now = newest.reduce((a, b) => Math.max(a, b), Number.isNaN(date) ? Date.now() : date);
		return { phoneNumber: conversation.summary.phoneNumber, conversation, messages, now };
	} catch (error) {
		if (!isPartnerError(error)) throw error;
		if (error._tag === "PartnerNotFound")
			throw new Error("The agency has no conversation with this contact, or it is hidden.");
		throw new Error(`${error.message.replace(/\.$/, "")}. ${remedy}`);
	}
}

/** What will be written, in lines without personal data. */
function summaryOf({ conversation, messages, now }: Captured, out: string): string[] {
	const { summary, queuedMessages, aiSettings } = conversation;
	const inbound = messages.filter(({ direction }) => direction === "inbound").length;
	const { windowExpiresAt } = summary;
	const isOpen = windowExpiresAt !== null && Date.parse(windowExpiresAt) > now;
	const window = windowExpiresAt === null ? "never opened" : isOpen ? "open" : "closed";
	const flows = summary.activeFlows + summary.completedFlows;
	return [
		`${printable(out)} will hold one conversation: ${counted(messages.length, "message")}, ${inbound} of them from the contact.`,
		`Also: ${queuedMessages.length === 0 ? "no text" : "1 text"} that waits for consent, a window that ${window === "never opened" ? window : `is ${window}`}, AI ${aiSettings.enabled ? "on" : "off"}, ${counted(flows, "flow")}, and the agency's consent settings.`,
		"",
		"Copied: directions, states, statuses, languages, lengths of texts, and times, all shifted by the same length.",
		"Generated: numbers, names, texts, codes of templates and buttons, ids, addresses of files. No key is in it.",
		"",
		"Lengths and times are still pseudonymous data of a person. Treat the file as such, and delete it when the bug is fixed.",
		"",
	];
}

function write(file: string, bug: BugFile): void {
	try {
		writeFileSync(file, `${JSON.stringify(bug)}\n`, { mode: 0o600, flag: "wx" });
	} catch (error) {
		const code = error instanceof Error && "code" in error ? error.code : undefined;
		if (code === "EEXIST") throw new Error("The file of --out exists. Name another one, or delete it.");
		throw new Error(`The file of --out cannot be written (${code}).`);
	}
}
