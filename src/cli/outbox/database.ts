/*
 * The database of the caller's project, by the driver that is installed there: this package brings none.
 */
import { statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isPartnerError } from "messaging-conversations";
import { isPort, type OutboxStore } from "../../outbox/store.ts";
import { mysqlStore } from "../../outbox/stores/mysql.ts";
import { postgresStore } from "../../outbox/stores/postgres.ts";
import { readOnlySince } from "../../outbox/stores/schema.ts";
import { sqliteStore } from "../../outbox/stores/sqlite.ts";
import { Secret } from "../../shared/secret.ts";
import { FileError } from "./records.ts";
import { type FoundTables, tablesOf } from "./tables.ts";

/** A store that is open, and what closes its connections. */
export interface OpenStore {
	readonly store: OutboxStore;
	/** Why this version may only read, if it is so. */
	readonly readOnly: string | undefined;
	/** The prefix of the tables, if it was found and not given. */
	readonly found: string | undefined;
	/** Waits for something of the database. An error of it then names the database, without user and password. */
	readonly safely: <Result>(running: Promise<Result>) => Promise<Result>;
	close(): Promise<void>;
}

type Dialect = "postgres" | "mysql" | "sqlite";

/** A database that is open, before its tables were looked at. */
interface Opened {
	readonly db: unknown;
	close(): unknown;
}

/** A driver: the name of its package, and how it opens a database. */
interface Driver {
	readonly name: string;
	/** What is imported, if it is not the package itself. */
	readonly entry?: string;
	open(module: Module, url: Secret<string>): Opened;
}

/** What an import gives. A package in CommonJS has it all in `default` too. */
type Module = Readonly<Record<string, unknown>>;

interface Pool {
	end(): unknown;
	on?(event: "error", act: () => void): unknown;
}
interface File {
	close(): unknown;
}
type Make<Made> = new (options: unknown, more?: object) => Made;
type Create<Made> = (options: unknown) => Made;

/** Something that a package exports, in whichever form it is written. */
function exported<Kind>(module: Module, name: string): Kind {
	const inner: Module = Object(module.default);
	return (module[name] ?? inner[name]) as Kind;
}

function pool(made: Pool): Opened {
	// A connection that breaks while it is idle shows in the next statement.
	made.on?.("error", () => {});
	return { db: made, close: () => made.end() };
}

const waitMs = 10_000;
/** The prefix of a store without one of its own. */
const usualPrefix = "outbox";

const drivers: Readonly<Record<Dialect | "remote", readonly Driver[]>> = {
	postgres: [
		{
			name: "pg",
			open: (module, url) => {
				const Made = exported<Make<Pool>>(module, "Pool");
				const limits = { max: 2, connectionTimeoutMillis: waitMs };
				return pool(new Made({ connectionString: url.reveal(), ...limits }));
			},
		},
	],
	mysql: [
		{
			name: "mysql2",
			entry: "mysql2/promise",
			open: (module, url) => {
				const create = exported<Create<Pool>>(module, "createPool");
				const limits = { connectionLimit: 2, connectTimeout: waitMs };
				return pool(create({ uri: url.reveal().replace(/^mariadb:/, "mysql:"), ...limits }));
			},
		},
		{
			name: "mariadb",
			open: (module, url) => {
				const { hostname, port, username, pathname } = new URL(url.reveal());
				const options = {
					host: hostname,
					port: Number(port || 3306),
					user: decodeURIComponent(username),
					database: decodeURIComponent(pathname.slice(1)),
					connectionLimit: 2,
					acquireTimeout: waitMs,
				};
				const create = exported<Create<Pool>>(module, "createPool");
				return pool(create({ ...options, password: decodeURIComponent(new URL(url.reveal()).password) }));
			},
		},
	],
	sqlite: [
		{
			name: "better-sqlite3",
			open: (module, file) => opened(new (module.default as Make<File>)(file.reveal())),
		},
		{
			name: "node:sqlite",
			open: (module, file) => opened(new (exported<Make<File>>(module, "DatabaseSync"))(file.reveal())),
		},
		{ name: "libsql", open: (module, file) => opened(new (module.default as Make<File>)(file.reveal())) },
		{
			name: "@libsql/client",
			open: (module, file) =>
				opened(exported<Create<File>>(module, "createClient")({ url: pathToFileURL(file.reveal()).href })),
		},
	],
	remote: [
		{
			name: "@libsql/client",
			open: (module, url) => opened(exported<Create<File>>(module, "createClient")({ url: url.reveal() })),
		},
	],
};

const opened = (file: File): Opened => ({ db: file, close: () => file.close() });

const advice: Readonly<Record<keyof typeof drivers, string>> = {
	postgres: "Install pg: npm install pg",
	mysql: "Install mysql2 or mariadb: npm install mysql2",
	sqlite: "Install better-sqlite3: npm install better-sqlite3. Or use Node 22.13 or later, which has SQLite",
	remote: "Install @libsql/client: npm install @libsql/client",
};

/**
 * Opens the store. It refuses tables of an earlier version.
 *
 * @param url an address such as `postgres://…` or `mysql://…`, or the path of a file of SQLite
 * @param prefix undefined for `outbox`, or else for the only tables that there are
 * @param cwd the folder in which packages are looked for, and relative files
 */
export async function openStore(url: Secret<string>, prefix: string | undefined, cwd: string): Promise<OpenStore> {
	const scheme =
		url
			.reveal()
			.match(/^[a-z][a-z0-9+.-]+(?=:)/i)?.[0]
			.toLowerCase() ?? "file";
	const kind = kindOf(scheme);
	const place = kind === "sqlite" ? fileOf(url, cwd) : url;
	const name = kind === "sqlite" ? (shownPath(place) ?? "") : nameOf(place);
	const { db, close } = await open(kind, place, cwd, name);
	const safely = safelyOn(place, name);
	try {
		const dialect = kind === "remote" ? "sqlite" : kind;
		const at = (prefix: string) => safely(readOnlySince(db, dialect, prefix));
		const given = prefix ?? usualPrefix;
		const tables = await at(given);
		const found = tables ? undefined : onlyOf(await safely(tablesOf(db, dialect)), prefix, name);
		const { readOnly } = (tables ?? (found !== undefined && (await at(found)))) || {};
		const make = { postgres: postgresStore, mysql: mysqlStore, sqlite: sqliteStore }[dialect];
		const store = make(db as never, { prefix: found ?? given });
		if (!isPort(store)) throw new Error("The store is of another version of this package.");
		return {
			store,
			readOnly,
			found,
			safely,
			close: async () => void (await close()),
		};
	} catch (error) {
		await close();
		throw error;
	}
}

/** The prefix of the only tables, unless another one was given. Otherwise it says which ones there are. */
function onlyOf(found: readonly FoundTables[], given: string | undefined, name = ""): string {
	const here = found.filter(({ isHere }) => isHere);
	const [only, ...others] = here;
	if (only && others.length === 0 && given === undefined) return only.prefix;
	const database = name === "" ? "The database" : `The database ${name}`;
	// The given one is not quoted, because it may be a key.
	const which = given === undefined ? `--prefix ${usualPrefix}` : "this --prefix";
	if (found.length === 0)
		throw new Error(`${database} has no tables of an outbox. Is it the right one, and has outbox.migrate() run?`);
	const known = (here.length > 0 ? here : found).map(({ prefix }) => `--prefix ${prefix}`).join(", ");
	throw new Error(`${database} has no tables of ${which}. Give one of: ${known}.`);
}

function kindOf(scheme: string): keyof typeof drivers {
	if (/^postgres(ql)?$/.test(scheme)) return "postgres";
	if (/^(mysql|mariadb)$/.test(scheme)) return "mysql";
	if (/^(libsql|wss?|https?)$/.test(scheme)) return "remote";
	// A letter is a drive of Windows.
	if (/^(file|sqlite|sqlite3|[a-z])$/.test(scheme)) return "sqlite";
	throw new Error(
		"The address of the database begins with none of postgres:, mysql:, mariadb:, libsql: and file:, and is no path.",
	);
}

/** The path of a file that exists, because a driver would create an empty one. */
function fileOf(url: Secret<string>, cwd: string): Secret<string> {
	const file = new Secret(pathOf(url.reveal(), cwd));
	const found = statSync(file.reveal(), { throwIfNoEntry: false });
	if (found?.isFile()) return file;
	const shown = shownPath(file) ?? "the path of the database";
	const what = found === undefined ? `There is no file at ${shown}.` : `There is no file, but a folder, at ${shown}.`;
	throw new Error(`${what} --database or DATABASE_URL names it.`);
}

/** A path to show; undefined if it may be the address of a server that was mistyped, which can have a password, or a key. */
function shownPath(file: Secret<string>): string | undefined {
	const isPlain = !/[^\\/]@|[=?;]|:(?!\\|\/(?!\/))|_live\./.test(file.reveal());
	return isPlain ? file.reveal() : undefined;
}

/** Such as `crm at 127.0.0.1:5432`, without user and password; undefined for an address that cannot be read with certainty. */
function nameOf(url: Secret<string>): string | undefined {
	if (!URL.canParse(url.reveal())) return undefined;
	const { protocol, hostname, port, pathname, username, search, hash } = new URL(url.reveal());
	// With / or # or ? in its password, an address is cut at the wrong places.
	const isUnsure = `${pathname}${search}${hash}`.includes("@") || (url.reveal().includes("@") && username === "");
	if (isUnsure) return undefined;
	const usual = /^postgres/.test(protocol) ? "5432" : /^(mysql|mariadb)/.test(protocol) ? "3306" : "";
	const number = port || usual;
	const host = hostname === "" ? "" : `at ${hostname}${number === "" ? "" : `:${number}`}`;
	return [pathname.slice(1), host].filter((each) => each !== "").join(" ");
}

function pathOf(url: string, cwd: string): string {
	const path = url.startsWith("file:///") ? fileURLToPath(url) : url.replace(/^(file|sqlite3?):(\/\/)?/, "");
	return /^([a-z]:)?[\\/]/i.test(path) ? path : join(cwd, path);
}

async function open(
	kind: keyof typeof drivers,
	place: Secret<string>,
	cwd: string,
	name: string | undefined,
): Promise<Opened> {
	const failures: string[] = [];
	const hidden = secretsIn(place);
	for (const driver of drivers[kind]) {
		const needed = neededNode(driver.name, cwd);
		if (needed !== undefined) {
			failures.push(`${driver.name} needs Node ${needed}.`);
			continue;
		}
		const module = await load(driver.entry ?? driver.name, cwd);
		if (!module) continue;
		try {
			return driver.open(module, place);
		} catch (error) {
			// For example one that was built for another version of Node.
			failures.push(`${driver.name}: ${ofDatabase(error, name, hidden).message}`);
		}
	}
	if (failures.length > 0) throw new Error(failures.join(" "));
	throw new Error(`No driver of the database is installed in this folder. ${advice[kind]}.`);
}

/** The version of Node that a package needs, if this one is older: a native one ends the process then. */
function neededNode(name: string, cwd: string): string | undefined {
	try {
		const { engines }: { engines?: { node?: unknown } } = requireFrom(cwd)(`${name}/package.json`);
		const [, least = "0"] = /^>=\s*(\d+)/.exec(String(engines?.node)) ?? [];
		return Number(least) > Number.parseInt(process.versions.node, 10) ? least : undefined;
	} catch {
		// It is not there, or does not show its package.json.
		return undefined;
	}
}

const requireFrom = (cwd: string): NodeJS.Require => createRequire(join(cwd, "package.json"));

/** Imports a package of the caller's project; undefined if it is not there. */
async function load(name: string, cwd: string): Promise<Module | undefined> {
	try {
		// Asked for in this way, Node says nothing about an experiment before it is used.
		if (name.startsWith("node:")) return await import(name);
		return await import(pathToFileURL(requireFrom(cwd).resolve(name)).href);
	} catch {
		return undefined;
	}
}

/** Errors of a driver quote its address, which may hold a password. Those of this package say what is wrong by themselves. */
function safelyOn(url: Secret<string>, name: string | undefined): OpenStore["safely"] {
	const hidden = secretsIn(url);
	return async (running) => {
		const ended = await running.then(
			(result) => ({ result }),
			(error: unknown) => {
				if (error instanceof FileError) return error;
				return isPartnerError(error) ? readable(error, hidden) : ofDatabase(error, name, hidden);
			},
		);
		// Here, because a function that has the driver's error in a variable shows what that quotes.
		if (ended instanceof Error) throw ended;
		return ended.result;
	};
}

/** An error of a driver. Without a name of the database, it may quote a part of the password as the name of a host. */
function ofDatabase(error: unknown, name: string | undefined, hidden: Secret<readonly string[]>): Error {
	if (name !== undefined)
		return new Error(`The database ${name === "" ? "" : `${name} `}cannot be used: ${readable(error, hidden).message}`);
	const { code = "no code" }: { code?: unknown } = Object(error);
	return new Error(
		`The database cannot be used (${code}). If its password has a /, # or ?, write them as %2F, %23 and %3F.`,
	);
}

/** What a driver may quote of an address. */
function secretsIn(url: Secret<string>): Secret<readonly string[]> {
	const part = (name: "username" | "password"): Secret<string> =>
		new Secret(URL.canParse(url.reveal()) ? new URL(url.reveal())[name] : "");
	const [user, password] = [part("username"), part("password")];
	// The user in quotes only, because a user can be called "a".
	const users = [user.reveal(), decoded(user)].flatMap((each) => (each === "" ? [] : [`"${each}"`, `'${each}'`]));
	return new Secret([url.reveal(), password.reveal(), decoded(password), ...users].filter((each) => each !== ""));
}

/** As a driver knows it, and may quote it. */
function decoded(part: Secret<string>): string {
	try {
		return decodeURIComponent(part.reveal());
	} catch {
		return part.reveal();
	}
}

function readable(error: unknown, hidden: Secret<readonly string[]>): Error {
	const { message = "", code = "" }: { message?: unknown; code?: unknown } = Object(error);
	const said = hidden.reveal().reduce((text, each) => text.replaceAll(each, "[hidden]"), String(message || code));
	return new Error(said === "" ? "the driver gives no reason" : said);
}
