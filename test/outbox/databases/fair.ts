// Measures how fair turns are: how long a text of one agency waits behind the texts of others, with two workers of eight. Run by
// hand: `npx tsx test/outbox/databases/fair.ts postgres`, `… mysql` or `… libsql`. Further arguments are the number of texts, one
// scene, and the number of workers.
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import mysql from "mysql2/promise";
import pg from "pg";
import { startServer } from "../../postgres.ts";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { startMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";

const scenes = ["healthy", "answers 403", "no template", "hangs", "300 held", "300 agencies"] as const;
type Scene = (typeof scenes)[number];

const [kind = "libsql", count = "50000", only, workers = "2"] = process.argv.slice(2);
const most = Number(count);
const latencyMs = 60;
const seconds = 12;
const agencyOf = (at: number): string => `agy_${at.toString(16).padStart(16, "0")}`;
const numberOf = (at: number): string => `+44770${String(at).padStart(7, "0")}`;
/** The one with the many texts, the one whose notices are measured, and the one whose replies are. */
const [many, other, answering] = [agencyOf(1), agencyOf(9_998), agencyOf(9_999)];
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A service that knows nothing but what a scene needs. */
function createService(scene: Scene) {
	const begun = new Map<string, number>();
	const counts = { sends: 0, requests: 0 };
	const opened = new Date(Date.now() + 20 * 3_600_000).toISOString();
	function summaryOf(phoneNumber: string, isHeld: boolean, isOpen: boolean) {
		return {
			...{ phoneNumber, contactName: null, lastMessageAt: null, lastMessagePreview: null, lastMessageDirection: null },
			...{ totalMessages: 0, failedMessages: 0, activeFlows: 0, completedFlows: 0, latestFlowStatus: null },
			...{ lastInboundAt: null, windowExpiresAt: isOpen ? opened : null, aiEnabled: true, isUnlinked: false },
			queuedMessages: isHeld ? 1 : 0,
			visibility: { reason: "focus", isShared: false, isVisibleThroughAgencyTag: false },
			cursor: null,
		};
	}
	function answer(url: string, body: string | undefined): [status: number, json: unknown] {
		const [, agencyId = ""] = /agencies\/([^/]+)/.exec(url) ?? [];
		const isMany = agencyId === many;
		if (isMany && scene === "answers 403")
			return [403, { _tag: "PartnerForbidden", message: "The key cannot reach this agency." }];
		const isHeld = isMany && scene === "300 held";
		const isOpen = !(isMany && (scene === "300 held" || scene === "no template"));
		if (url.endsWith("/lookup")) {
			const { phoneNumbers = [] }: { phoneNumbers?: string[] } = JSON.parse(body ?? "{}");
			return [
				200,
				{ results: phoneNumbers.map((each) => ({ phoneNumber: each, conversation: summaryOf(each, isHeld, isOpen) })) },
			];
		}
		if (url.endsWith("/messages") && body !== undefined) {
			const { operationId } = JSON.parse(body);
			const result = { messageId: `SM${operationId}`, queueId: null, status: "queued", windowOpen: true };
			return [200, { success: true, queued: false, ...result, windowExpiresAt: opened }];
		}
		const phone = decodeURIComponent(/conversations\/([^/?]+)/.exec(url)?.[1] ?? "");
		const time = new Date(Date.now() - 60_000).toISOString();
		const queued = { id: `q${phone}`, body: "Your visit is at 14:00.", createdAt: time, updatedAt: time };
		const conversation = {
			summary: { ...summaryOf(phone, isHeld, isOpen), cursor: null },
			queuedMessages: isHeld ? [{ ...queued, expiresAt: null, status: "pending" }] : [],
			aiSettings: { enabled: true, disabledReason: null, disabledAt: null },
			windowReopenReadiness: {
				...{ configured: true, templatesApproved: isOpen, eligibleForManualSend: isOpen || isHeld },
				...{ availableLanguages: ["en"], defaultLanguage: "en", flowCodes: ["window_reopen"] },
				...{ missingFlowCodes: [], missingTemplates: [], unapprovedTemplates: [] },
			},
		};
		return [200, { conversation, messagePage: { messages: [], nextCursor: null, pageSize: 50, hasMore: false } }];
	}
	const fetch: typeof globalThis.fetch = async (input, init) => {
		const url = String(input);
		counts.requests++;
		const body = typeof init?.body === "string" ? init.body : undefined;
		if (url.endsWith("/messages") && body !== undefined) {
			counts.sends++;
			const { body: text } = JSON.parse(body);
			if (!begun.has(text)) begun.set(text, performance.now());
		}
		await pause(url.includes(many) && scene === "hangs" ? 20_000 : latencyMs);
		const [status, json] = answer(url, body);
		return new Response(JSON.stringify(json), { status, headers: { "content-type": "application/json" } });
	};
	return { fetch, begun, counts };
}

interface Place {
	store: () => OutboxStore;
	run: (sql: string) => Promise<unknown>;
	statements: () => number;
	close: () => Promise<unknown>;
}

async function openPlace(): Promise<Place> {
	let statements = 0;
	const counting = <Pool extends object>(pool: Pool, ...names: string[]): Pool =>
		new Proxy(pool, {
			get(target, name) {
				const value = Reflect.get(target, name);
				if (typeof value !== "function") return value;
				return (...values: unknown[]) => {
					if (names.includes(String(name))) statements++;
					return value.apply(target, values);
				};
			},
		});
	if (kind === "postgres") {
		const server = await startServer(import.meta.url);
		const pool = new pg.Pool({ connectionString: await server.create(), max: 10 });
		const counted = counting(pool, "query");
		const close = () => pool.end().then(server.close);
		return { store: () => postgresStore(counted), run: (sql) => pool.query(sql), statements: () => statements, close };
	}
	if (kind === "mysql" || kind === "mariadb") {
		const server = await startMysql(kind === "mysql" ? "MySQL" : "MariaDB");
		const pool = mysql.createPool({ uri: await server.create(), connectionLimit: 10 });
		const counted = counting(pool, "query", "execute");
		const close = () => pool.end().then(server.close);
		return { store: () => mysqlStore(counted), run: (sql) => pool.query(sql), statements: () => statements, close };
	}
	const url = newFile();
	const open = () => {
		const db = new Libsql(url);
		db.exec("pragma journal_mode = wal; pragma synchronous = normal; pragma busy_timeout = 10000");
		return db;
	};
	const db = open();
	const close = async () => db.close();
	return { store: () => sqliteStore(open()), run: async (sql) => db.exec(sql), statements: () => Number.NaN, close };
}

/** Stores texts that were enqueued a while ago, some hundred in a statement. */
async function fill({ run }: Place, scene: Scene): Promise<number> {
	const total = scene === "300 held" ? 300 : scene === "300 agencies" ? Math.min(60_000, most) : most;
	const each = total / 300;
	const now = Date.now() - 10_000;
	const held = { requests: [{ at: now - 60_000, end: "held" }], language: null };
	const columns =
		"id, agency_id, recipient, body, created_at, state, since, next_at, ready_at, version, progress, begun_at, attempts, purpose, queue_id";
	for (let from = 0; from < total; from += 500) {
		const rows = Array.from({ length: Math.min(500, total - from) }, (_, at) => {
			const n = from + at;
			const agency = scene === "300 agencies" ? agencyOf(1_000 + Math.floor(n / each)) : many;
			const isHeld = scene === "300 held";
			const state = isHeld ? "held" : "waiting";
			const body = isHeld ? "Your visit is at 14:00." : `Text ${n}`;
			const progress = JSON.stringify(isHeld ? held : {});
			return `('t${n}', '${agency}', '${numberOf(n)}', '${body}', ${now}, '${state}', ${now}, ${now + Math.floor(n / 100)}, 0, 0, '${progress}', 0, ${Number(isHeld)}, 'notice', ${isHeld ? `'q${numberOf(n)}'` : "null"})`;
		});
		await run(`insert into outbox_texts (${columns}) values ${rows.join(", ")}`);
	}
	return total;
}

for (const scene of scenes) {
	if (only && scene !== only) continue;
	const place = await openPlace();
	const service = createService(scene);
	const make = () => {
		const client = createClient({ baseUrl: "https://service.test/api/v1", apiKey: "x_live.k.s", fetch: service.fetch });
		return createOutbox({ client, store: place.store(), concurrency: 8, followMs: [86_400_000] });
	};
	const all = Array.from({ length: Number(workers) }, make);
	const [one = make()] = all;
	await one.migrate();
	const total = await fill(place, scene);
	const stop = new AbortController();
	const before = place.statements();
	const began = performance.now();
	const running = all.map((outbox) => outbox.work({ signal: stop.signal }));
	const enqueued = new Map<string, number>();
	// Behind 300 agencies an agency's share is one text a round.
	const [texts, everyMs] = scene === "300 agencies" ? [12, 4_000] : [seconds * 2, 500];
	for (let at = 0; at < texts; at++) {
		await pause(everyMs);
		const isReply = at % 2 === 1;
		const body = isReply ? `urgent ${at}` : `normal ${at}`;
		enqueued.set(body, performance.now());
		const purpose = isReply ? "reply" : "notice";
		const agencyId = isReply ? answering : other;
		await one.enqueue({ id: body, agencyId, to: numberOf(9_000_000 + at), body, purpose });
	}
	const end = performance.now() + 60_000;
	while ([...enqueued.keys()].some((body) => !service.begun.has(body)) && performance.now() < end) await pause(50);
	const waits = (name: string) =>
		[...enqueued].flatMap(([body, at]) =>
			body.startsWith(name) ? [((service.begun.get(body) ?? Number.NaN) - at) / 1_000] : [],
		);
	const worst = (name: string) => `${Math.max(...waits(name)).toFixed(1)} s`;
	const ranMs = performance.now() - began;
	const { sends, requests } = service.counts;
	const each = ((place.statements() - before) / sends).toFixed(1);
	console.log(
		`${kind}, ${total} texts, ${workers} workers, ${scene}: normal ${worst("normal")}, urgent ${worst("urgent")}; ${((sends * 1_000) / ranMs).toFixed(0)} texts/s, ${(requests / sends).toFixed(1)} requests and ${each} statements a text`,
	);
	stop.abort();
	await Promise.race([Promise.all(running), pause(25_000)]);
	await place.close();
}
process.exit(0);
