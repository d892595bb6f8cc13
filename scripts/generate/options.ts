/*
 * docs/options.md: the options of each function, with the text that an editor shows for them.
 */
import ts from "typescript";
import { declarations, entries } from "./declarations.ts";
import { table, withMarked } from "./marked.ts";

const page = "docs/options.md";

type Entry = (typeof entries)[number];

/** The types of one table, by the function that takes each. What one of `without` has too stands elsewhere. */
interface Shown {
	readonly entry: Entry;
	readonly types: Readonly<Record<string, string>>;
	readonly without?: readonly string[];
	/** Whether it is given, rather than taken: nothing has a default. */
	readonly isGiven?: boolean;
}

const shown: Readonly<Record<string, Shown>> = {
	ClientOptions: { entry: "index", types: { createClient: "ClientOptions" } },
	CallOptions: { entry: "index", types: { "a call": "CallOptions" } },
	RetryOptions: { entry: "index", types: { retry: "RetryOptions" } },
	"options of reads": {
		entry: "index",
		types: { "`list`": "ListOptions", "`lookup`": "LookupOptions" },
		without: ["CallOptions"],
	},
	OutgoingMessage: { entry: "index", types: { send: "OutgoingMessage" } },
	SendOptions: { entry: "index", types: { send: "SendOptions" }, without: ["CallOptions"] },
	CustomRequest: { entry: "index", types: { request: "CustomRequest" } },
	NodeHttpOptions: { entry: "node", types: { nodeHttp: "NodeHttpOptions" } },
	AttemptEvent: { entry: "index", types: { onAttempt: "AttemptEvent" }, isGiven: true },
	OutboxOptions: { entry: "outbox/index", types: { createOutbox: "OutboxOptions" } },
	EnqueuedText: { entry: "outbox/index", types: { enqueue: "EnqueuedText" } },
	EnqueueOptions: { entry: "outbox/index", types: { enqueue: "EnqueueOptions" } },
	"options of operations": {
		entry: "outbox/index",
		types: {
			"`suspend`": "SuspendOptions",
			"`resume`": "ResumeOptions",
			"`resolve`": "ResolveOptions",
			"`restored`": "RestoredOptions",
			"`cancel`": "CancelOptions",
			"`optOut`, `optIn`": "StopOptions",
			"`optedOut`": "OptedOutOptions",
			"`list`": "ListOptions",
			"`report`": "ReportOptions",
			"`follow`": "FollowOptions",
			"`leases`": "LeasesOptions",
			"`exportContacts`": "ExportOptions",
			"`importContacts`": "ImportOptions",
		},
	},
	"options of stores and engines": {
		entry: "outbox/index",
		types: {
			"each store": "StoreOptions",
			"`pgBossEngine`": "PgBossEngineOptions",
			"`bullmqEngine`": "BullmqEngineOptions",
		},
	},
	"options of the change feed": {
		entry: "sync/index",
		types: { "`changes`": "ChangesOptions", "`watch`": "WatchOptions", "`reconcile`": "ReconcileOptions" },
	},
	WatchAgenciesOptions: {
		entry: "sync/index",
		types: { watchAgencies: "WatchAgenciesOptions" },
		without: ["ChangesOptions"],
	},
};

/** The page of options, with its tables. */
export async function optionTables(): Promise<Record<string, string>> {
	const compiled = declarations();
	const program = compiled.createProgram(entries.map(compiled.pathOf));
	const checker = program.getTypeChecker();
	const parts = Object.fromEntries(Object.entries(shown).map(([name, each]) => [name, tableOf(each)]));
	return { [page]: await withMarked(page, parts) };

	function membersOf(entry: Entry, name: string): ts.Symbol[] {
		const source = program.getSourceFile(compiled.pathOf(entry));
		const module = source && checker.getSymbolAtLocation(source);
		const found = module && checker.getExportsOfModule(module).find((each) => each.name === name);
		if (!found) throw new Error(`src/${entry}.ts exports no ${name}: scripts/generate/options.ts has to follow it`);
		const symbol = found.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(found) : found;
		return checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol));
	}

	function tableOf({ entry, types, without = [], isGiven = false }: Shown): string {
		const known = new Set(without.flatMap((name) => membersOf(entry, name)).map(rowKey));
		const rows = new Map<string, { readonly cells: readonly string[]; readonly of: string[] }>();
		for (const [of, name] of Object.entries(types))
			for (const member of membersOf(entry, name)) {
				const key = rowKey(member);
				if (known.has(key)) continue;
				const row = rows.get(key) ?? { cells: cellsOf(member), of: [] };
				row.of.push(of);
				rows.set(key, row);
			}
		if (isGiven) {
			const fields = [...rows.values()].map(({ cells: [name = "", preset, text = ""] }) => [
				name,
				preset === "required" ? "always" : "not always",
				text,
			]);
			return table(["field", "is there", ""], fields);
		}
		const isShared = Object.keys(types).length > 1;
		const all = [...rows.values()].sort((one, other) =>
			isShared ? Number(one.of.length < other.of.length) - Number(other.of.length < one.of.length) : 0,
		);
		const whose = (of: readonly string[]): string => (of.length === Object.keys(types).length ? "all" : of.join(", "));
		return table(
			isShared ? ["option", "of", "default", ""] : ["option", "default", ""],
			all.map(({ cells: [name = "", preset = "", text = ""], of }) =>
				isShared ? [name, whose(of), preset, text] : [name, preset, text],
			),
		);
	}

	function rowKey(member: ts.Symbol): string {
		return cellsOf(member).join("\n");
	}

	function cellsOf(member: ts.Symbol): [name: string, preset: string, text: string] {
		const text = ts.displayPartsToString(member.getDocumentationComment(checker));
		if (text === "") throw new Error(`${member.name} has no hover`);
		const tag = member.getJsDocTags(checker).find(({ name }) => name === "default");
		const isOptional = (member.flags & ts.SymbolFlags.Optional) !== 0;
		const preset = tag ? presetOf(ts.displayPartsToString(tag.text)) : isOptional ? "none" : "required";
		return [`\`${member.name}\``, preset, inCell(text)];
	}
}

/** A default: as code if it is a value, and otherwise as words. */
function presetOf(text: string): string {
	const words = inCell(text);
	if (/^("[\w-]+"|\{.*\}|true|false|Infinity)$/.test(words)) return `\`${words}\``;
	return words.replaceAll(/\b\d{4,}\b/g, (digits) => Number(digits).toLocaleString("en"));
}

/** Text of a hover in a cell of a table. */
function inCell(text: string): string {
	return text
		.replaceAll(/\{@link ([^}]*?)\s*\}/g, "`$1`")
		.replaceAll(/\s+/g, " ")
		.replaceAll("|", "\\|")
		.trim();
}
