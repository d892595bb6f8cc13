/*
 * How a worker finds out that the database has lost what was stored in it, as an automatic failover to a server that lags does: by what
 * the worker itself remembers. It counts in its own row, and knows the latest rows that it has changed. A number or a version never
 * gets smaller, and a row goes only where somebody says so first. So whatever is behind is lost for certain.
 *
 * An answer that got lost proves nothing, in neither direction. Nor does a number that is too high: a machine that was copied while it
 * ran has two workers of one id.
 */
import type { Beat, Beaten, OutboxStore, Restoration } from "../store.ts";
import type { OutboxText } from "../text.ts";
import type { Row, Value } from "./connection.ts";
import type { Statements } from "./statements.ts";
import type { Sweeps } from "./sweep.ts";

interface Run extends Pick<Sweeps, "changeTexts"> {
	query: (sql: string, values: Value[]) => Promise<Row[]>;
	change: (sql: string, values: Value[]) => Promise<number>;
	/** The row of the outbox. */
	metaRow: () => Promise<Row | undefined>;
}

/** What a worker remembers of its own row. */
interface Sign {
	/** The number is at least this one. */
	number: number;
	/** Statements that raised it, and whose answers did not come. */
	unanswered: number;
	/** When it first gave a sign, by the clock of the outbox. */
	firstAt: number;
	/** How often silent workers had been forgotten by then. */
	forgotten: number;
}

/** A row of a text that this process has changed. */
interface Written {
	id: string;
	version: number;
	since: number;
	/** When it was changed, by both clocks of the machine: one stands still while it sleeps, and a person sets the other. */
	at: number;
	date: number;
}

/** What this process expects to read of its own changes. */
export interface Expected {
	id: string;
	number: number;
	seq: number;
	version: number;
}

/** The latest changes are lost first, so that a few are enough. */
const mostWritten = 200;
/** Of a row that was changed longer ago, much may have happened. */
const longestMs = 5 * 60_000;
const dayMs = 86_400_000;

export function createSigns(statements: Statements, { query, change, changeTexts, metaRow }: Run) {
	const signs = new Map<string, Sign>();
	const written = new Map<number, Written>();
	let lastId = "";
	/** Which restoration was the last one when this process gave its last sign. */
	let known: string | undefined;
	const nameOf = (meta: Row | undefined): string => `${meta?.restore_number} ${meta?.restored_at}`;

	/** Goes on from what the database has now. */
	function startAgain(): void {
		signs.clear();
		written.clear();
		lastId = "";
	}

	/** Whether a text is not as this process has left it, although nobody may have removed it. */
	async function isBehind(seq: number, { id, version, since, at, date }: Written, isThere: boolean): Promise<boolean> {
		// A change, because some proxies send what only reads to a copy that lags.
		if ((await change(statements.touch, [seq, id, version])) > 0) return false;
		if (isThere) return true;
		if (performance.now() - at > longestMs || Math.abs(Date.now() - date) > longestMs) return false;
		return since >= Number((await metaRow())?.purged_before);
	}

	/** Whether a change of this process is lost. What is still there need not be looked at again. */
	async function hasLost(): Promise<boolean> {
		const all = [...written];
		if (all.length === 0) return false;
		const seqs = all.map(([seq]) => seq).join(", ");
		const rows = await query(statements.written(seqs), []);
		const found = new Map(rows.map((row) => [Number(row.seq), row]));
		for (const [seq, one] of all) {
			const row = found.get(seq);
			const isSame = row && row.id === one.id && Number(row.version) >= one.version;
			if (!isSame && (await isBehind(seq, one, row !== undefined))) return true;
			if (written.get(seq) === one) written.delete(seq);
		}
		return false;
	}

	/** When a worker last gave a sign that is not lost, by the clock of the outbox. Nothing that came before is lost. */
	async function lastSignOf(id: string, { firstAt }: Pick<Sign, "firstAt">): Promise<number> {
		const [own] = await query(statements.sign, [id]);
		if (own) return Number(own.signed_at);
		// Signs that others have given since the loss are later.
		const [other] = await query(statements.signBefore, [Math.floor(firstAt)]);
		return other?.at === null || other?.at === undefined ? firstAt - dayMs : Number(other.at);
	}

	async function join({ id, version, runsOnce, at, restore }: Beat, meta: Row | undefined): Promise<void> {
		const replayed = restore ?? Number(meta?.restore_number);
		const values = [id, version, Number(runsOnce), 1, Math.floor(at), replayed];
		let number = 1;
		if ((await change(statements.join, values)) === 0) {
			// It goes on from what it finds.
			await change(statements.raise, [id, 0, 1, Math.floor(at), replayed]);
			number = Number((await query(statements.sign, [id]))[0]?.number ?? 0);
		}
		signs.set(id, { number, unanswered: 0, firstAt: at, forgotten: Number(meta?.forgotten) });
		await change(statements.noteForgotten, []);
		await change(statements.forgetSilent, []);
	}

	/** Gives a sign of life. Returns whether the one before is there still. */
	async function raise(sign: Sign, { id, at, restore }: Beat, meta: Row | undefined): Promise<boolean> {
		sign.unanswered++;
		const number = sign.number + sign.unanswered;
		const replayed = restore ?? Number(meta?.restore_number);
		if ((await change(statements.raise, [id, sign.number, number, Math.floor(at), replayed])) === 0) return false;
		sign.number = number;
		sign.unanswered = 0;
		sign.forgotten = Number(meta?.forgotten);
		return true;
	}

	const signing: Pick<OutboxStore, "beat" | "leave" | "restored" | "finishRestore" | "restoration"> = {
		async beat(worker): Promise<Beaten> {
			const { id, restore } = worker;
			const meta = await metaRow();
			const name = nameOf(meta);
			// Somebody has declared it already.
			if (known !== undefined && known !== name) startAgain();
			known = name;
			const number = Number(meta?.restore_number);
			const seen = { restore: number, isRestoring: number > Number(meta?.restore_marked) };
			const sign = signs.get(id);
			const lost = async (): Promise<Beaten> => ({
				...seen,
				lostSince: await lastSignOf(id, sign ?? { firstAt: worker.at }),
			});
			// Before the number is raised, because its row says when it was raised last.
			if (await hasLost()) return lost();
			if (!sign) await join(worker, meta);
			else if (!(await raise(sign, worker, meta))) {
				const [own] = await query(statements.sign, [id]);
				const isForgotten = !own && Number((await metaRow())?.forgotten) !== sign.forgotten;
				if (!isForgotten) return lost();
				await join({ ...worker, restore }, meta);
			}
			lastId = id;
			return seen;
		},
		async leave(id) {
			await change(statements.leave, [id]);
		},
		async restored({ from, to }, source, by) {
			const [begin, end] = [Math.floor(from), Math.floor(to)];
			if (source === "restored") await query(statements.noteRestored, [begin, end, source, by ?? null]);
			for (;;) {
				const meta = await metaRow();
				const number = Number(meta?.restore_number);
				const last = meta?.restore_to === null || meta?.restore_to === undefined ? undefined : Number(meta.restore_to);
				const isDeclared =
					source === "worker"
						? known !== undefined && known !== nameOf(meta)
						: last !== undefined && begin < last && last <= end;
				// Of two that declare it, one does.
				if (isDeclared) await change(statements.joinRestore, [begin, number]);
				else if ((await change(statements.declareRestore, [begin, end, source, number])) === 0) continue;
				startAgain();
				return { count: await mark(), isNew: !isDeclared };
			}
		},
		finishRestore: async () => {
			await mark();
			const meta = await metaRow();
			return Number(meta?.restore_number) <= Number(meta?.restore_marked);
		},
		async restoration(): Promise<Restoration | undefined> {
			const meta = await metaRow();
			if (!meta || Number(meta.restore_number) === 0) return undefined;
			const { restore_from, restore_to, restore_source, restore_number, restore_marked } = meta;
			return {
				from: Number(restore_from),
				to: Number(restore_to),
				source: restore_source === "worker" ? "worker" : "restored",
				isDone: Number(restore_marked) >= Number(restore_number),
			};
		},
	};

	/** Marks the texts of the latest restoration, each once, and lets requests begin again when every living worker knows of it. */
	async function mark(): Promise<number> {
		const { restore_from, restore_to, restore_number } = (await metaRow()) ?? {};
		const number = Number(restore_number);
		const count = await changeTexts(statements.restored, [Number(restore_from), Number(restore_to), number]);
		await change(statements.closeRestore, [number]);
		return count;
	}

	return {
		signing,
		/** Notes that this process has stored a row. */
		wrote({ seq, id, version, since }: OutboxText): void {
			const before = written.get(seq);
			written.delete(seq);
			const newest = Math.max(version, before?.version ?? 0);
			written.set(seq, { id, version: newest, since, at: performance.now(), date: Date.now() });
			const [oldest] = written.keys();
			if (written.size > mostWritten && oldest !== undefined) written.delete(oldest);
		},
		/** What a statement that reads may compare with. */
		expected(): Expected {
			const sign = signs.get(lastId);
			const [seq, last] = [...written].at(-1) ?? [0, undefined];
			return {
				id: sign && sign.unanswered === 0 ? lastId : "",
				number: sign?.number ?? 0,
				seq,
				version: last?.version ?? 0,
			};
		},
	};
}

/** Whether a row shows less than this process has stored: it may be lost, or another one may have removed it. */
export function isLess({ id, number, seq, version }: Expected, { own_number, own_version }: Row): boolean {
	const isBelow = (value: unknown, least: number): boolean =>
		value === null || value === undefined || Number(value) < least;
	return (id !== "" && isBelow(own_number, number)) || (seq !== 0 && isBelow(own_version, version));
}
