/*
 * A service of its own, apart from the sandbox: conversations and messages in virtual time, behind a `fetch`. What the
 * contract leaves open is a knob. Every request lets time pass, so that things happen between two pages of one scan.
 */
import type { ConversationSummary, Message } from "messaging-conversations";
import { pick } from "../faults/random.ts";

/** What the contract leaves open. */
export interface Kind {
	/** Times are rounded down to it. */
	precisionMs?: number;
	/** A message may become visible so long after its time. */
	lateMs?: number;
	/** Pages of messages are so far behind the summary, in `conversations.get` too. */
	listLagMs?: number;
	/** A message may have a time so far ahead. */
	futureMs?: number;
	/** What a cursor knows: time and row, the time alone, or a number of rows. */
	cursors?: "rows" | "times" | "offsets";
	randomIds?: boolean;
	withoutDate?: boolean;
	/** Conversations without a message, and where they are listed. */
	untimed?: "first" | "last";
	/** Conversations are hidden for a while. */
	hides?: boolean;
	/** The reads of some conversations fail for a while. */
	unreadable?: boolean;
	/** The share of requests that fail. */
	faults?: number;
	/** What a failed request is answered with. */
	faultStatuses?: readonly number[];
	/** Something in front of the service answers the failed requests with these statuses, and with a page of its own. */
	faultsAreOfGateway?: boolean;
	/** Some messages have no time of their own. */
	undatedMessages?: boolean;
	/** Some reads are answered by a copy of the data that is so far behind. The pages of one list are of one copy. */
	copiesLagMs?: number;
	/** Some messages have a photo. The service keeps a copy of it so much later, at most. */
	lateMediaMs?: number;
	/** For a while lists do not end: their cursors circle, or each page shows the same rows, or none. */
	endless?: boolean;
	/** The service's clock is set back by an hour or more, once. */
	setsBack?: boolean;
	/** The service's clock is set forward by an hour or more, once. */
	setsForward?: boolean;
	/** What something in front of the service makes of every tenth answer of the service. */
	between?: readonly Between[];
	/** The client takes a 401, 403 or 404 for the service's, whatever its body is. */
	anyErrorBody?: boolean;
	/** Contacts are erased. */
	erases?: boolean;
}

/** What something in front of the service makes of an answer of 200. */
export type Between =
	/** A page of its own. */
	| "html"
	/** No body. */
	| "nothing"
	/** JSON of its own. */
	| "json"
	/** The body is cut off. */
	| "cut"
	/** A list without rows. */
	| "no rows"
	/** A list that ends too early. */
	| "fewer rows"
	/** An earlier answer to the same request, with its Date. */
	| "cached"
	/** An earlier answer to the same request, with the present Date. */
	| "cached, new Date"
	/** The first page in place of a later one, so that the cursor leads back. */
	| "repeated"
	/** The answer to another agency, or about another contact. */
	| "foreign";

export interface ModelMessage {
	id: number;
	/** As the service reports it. */
	at: number;
	/** From when on it is seen. */
	visibleAt: number;
	body: string;
	direction: "inbound" | "outbound";
	status: string;
	undated: boolean;
	deliveredAt: number | null;
	readAt: number | null;
	/** When the service has a copy of its photo; null for a message without one. */
	storedAt: number | null;
	serial: number;
	/** In place of an SID that is made of `serial`. */
	sid?: string;
}

export interface ModelConversation {
	phoneNumber: string;
	name: string;
	messages: ModelMessage[];
	aiEnabled: boolean;
	hiddenUntil: number;
	/** When it was shown again, after each time that it was hidden. */
	shownAt: number[];
	unreadableUntil: number;
	/** The time of its row when it was first listed. */
	listedAt: number | undefined;
	/** When it was first read, as `conversations.get`, by a read that the feed made use of. */
	readAt: number | undefined;
	serial: number;
}

export interface ModelEvent {
	at: number;
	happen: () => void;
}

/** An answer of 200 that came past what stands between. */
export interface Passed {
	at: number;
	/** Whether it is a page of the list. */
	isList: boolean;
	/** What was made of it; undefined for nothing. */
	what: Between | undefined;
	/** The messages that it shows: those of its rows, or of its page. */
	shown: ReadonlySet<number>;
	/**
	 * The messages that the service's own answer shows, and this one does not. If it ends a list that goes on, then those of
	 * all later pages too.
	 */
	hidden: ReadonlySet<number>;
}

export interface Model {
	/** The answers that keep the contract, if something stands between. */
	readonly passed: Passed[];
	fetch: typeof globalThis.fetch;
	readonly agencyId: string;
	now: number;
	/** Rows and messages in a page, whatever is asked for. */
	pageSize: number;
	/** Turned off at a history's end, when all must come right. */
	isFaulty: boolean;
	/** How far behind the copy is that answers now. */
	behindMs: number;
	/** The service's Date, in relation to its messages. */
	dateOffsetMs: number;
	/** The service's clock, in relation to the time that passes. */
	clockOffsetMs: number;
	/** How lists do not end now. */
	endless: "circle" | "one row" | "empty" | undefined;
	readonly conversations: ModelConversation[];
	/** Requests so far. */
	readonly requests: string[];
	schedule: (event: ModelEvent) => void;
	advance: (ms: number) => void;
	write: (conversation: ModelConversation, ahead?: Partial<ModelMessage>) => ModelMessage | undefined;
	add: () => ModelConversation;
	/** What the service shows now. */
	rows: () => ConversationSummary[];
	seen: (conversation: ModelConversation) => ModelMessage[];
	/** What its pages list now. */
	listed: (conversation: ModelConversation) => ModelMessage[];
}

export const cursorMark = "cursor~";
export const bodyMark = "Text of";
const never = Number.NEGATIVE_INFINITY;

export function createModel(kind: Kind, random: () => number, start = Date.UTC(2026, 0, 5, 9)): Model {
	const { precisionMs = 1, lateMs = 0, futureMs = 0, cursors = "rows", untimed = "last", faults = 0 } = kind;
	const { faultStatuses = [500], listLagMs = 0 } = kind;
	const conversations: ModelConversation[] = [];
	const events: ModelEvent[] = [];
	const requests: string[] = [];
	const lags = new Map<string, number>();
	/** What caches keep, by the address. */
	const answers = new Map<string, { body: string; date: string; shown: number[] }>();
	let serial = 0;
	const agencyId = "agy_0a1b2c3d";

	const model: Model = {
		agencyId,
		now: start,
		pageSize: 100,
		isFaulty: true,
		behindMs: 0,
		dateOffsetMs: 0,
		clockOffsetMs: 0,
		endless: undefined,
		conversations,
		requests,
		passed: [],
		schedule: (event) => {
			events.push(event);
			events.sort((a, b) => a.at - b.at);
		},
		advance(ms) {
			const until = model.now + ms;
			while (events[0] && events[0].at <= until) {
				const event = events.shift();
				model.now = Math.max(model.now, event?.at ?? 0);
				event?.happen();
			}
			model.now = until;
		},
		add() {
			const number = 470_000_000 + conversations.length * 1_237;
			const conversation: ModelConversation = {
				phoneNumber: `+32${number}`,
				name: `Contact ${conversations.length}`,
				messages: [],
				aiEnabled: true,
				hiddenUntil: 0,
				shownAt: [],
				unreadableUntil: 0,
				listedAt: undefined,
				readAt: undefined,
				serial: Math.floor(random() * 1e6) * 1_000 + conversations.length,
			};
			conversations.push(conversation);
			return conversation;
		},
		write(conversation, given = {}) {
			const ahead = futureMs > 0 && random() < 0.2 ? Math.floor(random() * futureMs) : 0;
			const at = floor(model.now + model.clockOffsetMs + ahead);
			// What nothing can help: a whole page of rows of one time, from a service whose cursors are times.
			if (cursors === "times" && tiedAt(at) >= model.pageSize - 1) return undefined;
			const isLate = lateMs > 0 && random() < 0.4;
			const message: ModelMessage = {
				id: kind.randomIds ? 1 + Math.floor(random() * 2 ** 50) : 1_000 + serial,
				at,
				visibleAt: model.now + (isLate ? Math.floor(random() * lateMs) : 0),
				body: `${bodyMark} ${serial}`,
				direction: random() < 0.5 ? "inbound" : "outbound",
				status: "sent",
				undated: kind.undatedMessages === true && random() < 0.15,
				deliveredAt: null,
				readAt: null,
				storedAt: kind.lateMediaMs !== undefined && random() < 0.3 ? model.now + random() * kind.lateMediaMs : null,
				serial: serial++,
				...given,
			};
			conversation.messages.push(message);
			// By their times, or as they came if a clock that was set back makes times useless.
			if (!kind.setsBack) conversation.messages.sort((a, b) => a.at - b.at || a.serial - b.serial);
			return message;
		},
		rows: () => ordered().map(summary),
		seen,
		listed,
		fetch: async (input, init) => {
			const url = new URL(typeof input === "string" ? input : input instanceof URL ? input : input.url);
			const { signal, body, method = "GET" } = init ?? {};
			signal?.throwIfAborted();
			model.advance(20 + Math.floor(random() * 400));
			const path = decodeURIComponent(url.pathname).replace(`/api/v1/agencies/${agencyId}`, "");
			requests.push(`${method} ${path}`);
			// A service without a clock in its answers, now and then: what only some of its machines send is not relied on.
			if (kind.copiesLagMs !== undefined) model.behindMs = lagOf(path.replace(/\/messages$/, ""), url.searchParams);
			const text = typeof body === "string" ? body : "";
			const answered = await pass(url, answer(path, url.searchParams, text), () =>
				answer(path, new URLSearchParams({ pageSize: url.searchParams.get("pageSize") ?? "50" }), text),
			);
			if (kind.copiesLagMs !== undefined) model.behindMs = 0;
			await Promise.resolve();
			signal?.throwIfAborted();
			return answered;
		},
	};
	return model;

	/** Brings an answer to the client, past what stands between. */
	async function pass(url: URL, answered: Response, first: () => Response): Promise<Response> {
		const { between } = kind;
		if (!between || !answered.ok) return answered;
		const order = ordered().map((each) => ({ each, ids: seen(each).map(({ id }) => id) }));
		const body = await answered.text();
		const json = JSON.parse(body);
		const isList = Array.isArray(json.conversations);
		const own = { body, date: answered.headers.get("date") ?? "", shown: shownBy(body) };
		const earlier = answers.get(url.href) ?? own;
		if (random() < 0.3 || !answers.has(url.href)) answers.set(url.href, own);
		const what = model.isFaulty && random() < 0.1 ? pick(random, between) : undefined;
		if (what === "html") return reply("<html>Sign in</html>", "text/html");
		if (what === "nothing") return reply("");
		if (what === "json") return reply(JSON.stringify({ status: "ok", data: [] }));
		if (what === "cut") return reply(body.slice(0, Math.floor(random() * body.length)));
		if (what === "cached") return keeping(earlier.body, earlier.shown, earlier.date);
		if (what === "cached, new Date") return keeping(earlier.body, earlier.shown);
		if (what === "repeated" && url.searchParams.has("cursor")) return keeping(await first().text());
		if (what === "no rows" && isList) return keeping(JSON.stringify({ ...json, conversations: [], nextCursor: null }));
		if (what === "fewer rows" && isList) {
			const some = json.conversations.slice(0, Math.floor(random() * json.conversations.length));
			return keeping(JSON.stringify({ ...json, conversations: some, nextCursor: null }));
		}
		if (what === "foreign") return keeping(body.replaceAll(/"phoneNumber":"\+32/g, '"phoneNumber":"+31'));
		return keeping(body);

		function keeping(text: string, shown = shownBy(text), date = own.date): Response {
			const isEnd = isList && JSON.parse(text).nextCursor === null;
			const first = order.findIndex(({ each }) => each.phoneNumber === json.conversations?.[0]?.phoneNumber);
			const rest = isEnd && first >= 0 ? order.slice(first).flatMap(({ ids }) => ids) : [];
			const hidden = new Set([...own.shown, ...rest].filter((id) => !shown.includes(id)));
			model.passed.push({ at: model.now, isList, what, shown: new Set(shown), hidden });
			return reply(text, "application/json", date);
		}
		function reply(text: string, type = "application/json", date = own.date): Response {
			return new Response(text, {
				headers: { "content-type": type, "x-correlation-id": "c", ...(date !== "" && { date }) },
			});
		}
		function shownBy(text: string): number[] {
			const { conversations: rows, messagePage, messages = messagePage?.messages ?? [] } = JSON.parse(text);
			const numbers = (rows ?? []).map(({ phoneNumber }: ConversationSummary) => phoneNumber);
			const ids = order.flatMap((row) => (numbers.includes(row.each.phoneNumber) ? row.ids : []));
			return [...ids, ...messages.map(({ id }: Message) => id)];
		}
	}

	function floor(at: number): number {
		return Math.floor(at / precisionMs) * precisionMs;
	}
	function tiedAt(at: number): number {
		return conversations.filter((other) => latest(other.messages) === at || latestSeen(other) === at).length;
	}
	function latest(messages: readonly ModelMessage[]): number {
		if (kind.setsBack) return messages.at(-1)?.at ?? never;
		return messages.reduce((time, { at }) => Math.max(time, at), never);
	}
	/** How far behind the copy is that answers a read: that of its first page. */
	function lagOf(path: string, query: URLSearchParams): number {
		if (!query.has("cursor")) lags.set(path, random() < 0.5 ? 0 : Math.floor(random() * (kind.copiesLagMs ?? 0)));
		return model.isFaulty ? (lags.get(path) ?? 0) : 0;
	}
	function seen({ messages }: ModelConversation): ModelMessage[] {
		return messages.filter(({ visibleAt }) => visibleAt <= model.now - model.behindMs);
	}
	function listed({ messages }: ModelConversation): ModelMessage[] {
		return messages.filter(({ visibleAt }) => visibleAt + listLagMs <= model.now - model.behindMs);
	}
	function latestSeen(conversation: ModelConversation): number {
		return latest(seen(conversation));
	}

	function isShown({ hiddenUntil }: ModelConversation): boolean {
		return hiddenUntil <= model.now;
	}

	function ordered(): ModelConversation[] {
		const isFirst = untimed === "first" ? Number.POSITIVE_INFINITY : never;
		const place = (conversation: ModelConversation): number => {
			const at = latestSeen(conversation);
			return at === never ? isFirst : at;
		};
		return conversations
			.filter((conversation) => isShown(conversation))
			.filter((conversation) => kind.untimed !== undefined || latestSeen(conversation) !== never)
			.map((conversation) => ({ conversation, at: place(conversation) }))
			.sort((a, b) => (a.at === b.at ? 0 : b.at - a.at) || a.conversation.serial - b.conversation.serial)
			.map(({ conversation }) => conversation);
	}

	function summary(conversation: ModelConversation): ConversationSummary {
		const messages = seen(conversation);
		const last = messages[messages.length - 1];
		const inbound = messages.filter(({ direction }) => direction === "inbound");
		const lastInbound = inbound[inbound.length - 1];
		return {
			phoneNumber: conversation.phoneNumber,
			contactName: conversation.name,
			lastMessageAt: last ? iso(last.at) : null,
			lastMessagePreview: last ? `Preview ${last.serial}` : null,
			lastMessageDirection: last?.direction ?? null,
			totalMessages: messages.length,
			failedMessages: messages.filter(({ status }) => status === "failed").length,
			activeFlows: 0,
			completedFlows: 0,
			latestFlowStatus: null,
			lastInboundAt: lastInbound ? iso(lastInbound.at) : null,
			windowExpiresAt: lastInbound ? iso(lastInbound.at + 24 * 3_600_000) : null,
			aiEnabled: conversation.aiEnabled,
			queuedMessages: 0,
			isUnlinked: false,
			visibility: { reason: "focus", isShared: false, isVisibleThroughAgencyTag: false },
			cursor: null,
		};
	}

	function answer(path: string, query: URLSearchParams, body: string): Response {
		if (model.isFaulty && random() < faults) {
			const status = faultStatuses[Math.floor(random() * faultStatuses.length)] ?? 500;
			if (status === 0) throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
			if (kind.faultsAreOfGateway) return new Response("default backend", { status });
			return refused(status);
		}
		const size = Math.min(model.pageSize, Number(query.get("pageSize") ?? 50));
		const cursor = query.get("cursor");
		if (path === "/conversations") {
			// A list that ends, or one that does not, knows no cursors of another one.
			const isOwn = model.endless ? cursor?.startsWith(`${cursorMark}${model.endless}#`) : !cursor?.includes("#");
			return cursor === null || isOwn ? said(list(size, cursor)) : refused(400);
		}
		if (path === "/conversations/lookup") {
			const { phoneNumbers }: { phoneNumbers: string[] } = JSON.parse(body);
			const results = phoneNumbers.map((phoneNumber) => {
				const found = conversations.find((conversation) => conversation.phoneNumber === phoneNumber);
				return { phoneNumber, conversation: found && isListed(found) ? summary(found) : null };
			});
			return said({ results });
		}
		const [, , phoneNumber, isMessages] = path.split("/");
		const found = conversations.find((conversation) => conversation.phoneNumber === phoneNumber);
		if (!found || !isListed(found)) return refused(404);
		if (model.isFaulty && found.unreadableUntil > model.now) return refused(500);
		const page = messagePage(found, size, cursor);
		if (isMessages) return said(page);
		found.readAt ??= model.now;
		const detail = {
			summary: summary(found),
			queuedMessages: [],
			aiSettings: { enabled: found.aiEnabled, disabledReason: null, disabledAt: null },
			windowReopenReadiness: {
				configured: true,
				templatesApproved: true,
				eligibleForManualSend: true,
				availableLanguages: ["nl"],
				defaultLanguage: "nl",
				flowCodes: [],
				missingFlowCodes: [],
				missingTemplates: [],
				unapprovedTemplates: [],
			},
		};
		return said({ conversation: detail, messagePage: page });
	}

	function isListed(conversation: ModelConversation): boolean {
		return isShown(conversation) && (kind.untimed !== undefined || latestSeen(conversation) !== never);
	}

	function list(pageSize: number, cursor: string | null) {
		const all = ordered();
		if (model.endless) return endlessPage(all, cursor, pageSize);
		const begin = cursor === null ? 0 : placeAfter(all, cursor.slice(cursorMark.length));
		const page = all.slice(begin, begin + pageSize);
		for (const conversation of page) conversation.listedAt ??= latestSeen(conversation);
		const rows = page.map((conversation, index) => ({
			...summary(conversation),
			cursor: `${cursorMark}${cursorOf(conversation, begin + index + 1)}`,
		}));
		const nextCursor = begin + pageSize < all.length ? (rows[rows.length - 1]?.cursor ?? null) : null;
		return { conversations: rows, nextCursor, pageSize };
	}

	function endlessPage(all: readonly ModelConversation[], cursor: string | null, pageSize: number) {
		const pages = Number(cursor?.split("#")[1] ?? 0);
		const isCircle = model.endless === "circle";
		const nextCursor = `${cursorMark}${model.endless}#${isCircle ? (pages + 1) % 3 : pages + 1}`;
		const first = isCircle ? pages * pageSize : 0;
		const shown = model.endless === "empty" ? [] : all.slice(first, isCircle ? first + pageSize : 1);
		const rows = shown.map((conversation) => ({ ...summary(conversation), cursor: nextCursor }));
		return { conversations: rows, nextCursor, pageSize };
	}

	function cursorOf(conversation: ModelConversation, offset: number): string {
		if (cursors === "offsets") return `${offset}`;
		const at = latestSeen(conversation);
		return cursors === "times" ? `${at}` : `${at}/${conversation.serial}`;
	}

	function placeAfter(all: readonly ModelConversation[], cursor: string): number {
		if (cursors === "offsets") return Number(cursor);
		const [at = never, tie = Number.POSITIVE_INFINITY] = cursor.split("/").map(Number);
		const isFirst = untimed === "first" ? Number.POSITIVE_INFINITY : never;
		const place = (time: number): number => (time === never ? isFirst : time);
		const index = all.findIndex((conversation) => {
			const own = place(latestSeen(conversation));
			return own < place(at) || (own === place(at) && conversation.serial > tie);
		});
		return index < 0 ? all.length : index;
	}

	function messagePage(conversation: ModelConversation, pageSize: number, cursor: string | null) {
		const all = listed(conversation).reverse();
		const place = cursor?.slice(cursorMark.length);
		let begin = 0;
		if (place !== undefined && cursors === "offsets") begin = Number(place);
		else if (place !== undefined) {
			const after = all.findIndex(({ serial }) => serial === Number(place));
			begin = after < 0 ? all.length : after + 1;
		}
		const page = all.slice(begin, begin + pageSize);
		const hasMore = begin + pageSize < all.length;
		const end = cursors === "offsets" ? begin + pageSize : page[page.length - 1]?.serial;
		return { messages: page.map(message), nextCursor: hasMore ? `${cursorMark}${end}` : null, pageSize, hasMore };
	}

	function message({ id, serial, at, body, direction, status, undated, ...more }: ModelMessage): Message {
		const url = `https://files.invalid/${id}.jpg`;
		const copy = {
			size: 1,
			stored_url: `${url}?kept`,
			content_type: "image/jpeg",
			original_url: url,
			storage_path: `${id}.jpg`,
			downloaded_at: iso(at),
		};
		return {
			id,
			messageSid: more.sid ?? `SM${serial}`,
			body,
			direction,
			createdAt: undated ? null : iso(at),
			deliveredAt: more.deliveredAt === null ? null : iso(more.deliveredAt),
			readAt: more.readAt === null ? null : iso(more.readAt),
			status,
			media: more.storedAt === null ? null : [{ url, index: 0, contentType: "image/jpeg" }],
			mediaStored: more.storedAt === null || more.storedAt > model.now - model.behindMs ? null : [copy],
			numMedia: more.storedAt === null ? 0 : 1,
			templateName: null,
			buttonClicked: null,
			profileName: null,
		};
	}

	function said(json: unknown): Response {
		const date = new Date(
			Math.floor((model.now + model.clockOffsetMs + model.dateOffsetMs) / 1_000) * 1_000,
		).toUTCString();
		return Response.json(json, { headers: { "x-correlation-id": "c", ...(kind.withoutDate ? {} : { date }) } });
	}

	function refused(status: number): Response {
		const tag = status === 400 ? "PartnerBadRequest" : status === 404 ? "PartnerNotFound" : "PartnerInternalError";
		// Longer than a poll waits for.
		const wait = status === 429 ? { "retry-after": "120" } : {};
		return Response.json({ _tag: tag, message: "No." }, { status, headers: { "x-correlation-id": "c", ...wait } });
	}
}

function iso(at: number): string {
	return new Date(at).toISOString();
}
