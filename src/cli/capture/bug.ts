import type { ConversationDetail, InteractiveContent, Message } from "messaging-conversations";
import { type BugFile, createSandbox } from "../../sandbox/index.ts";
import { type Archive, insideOf } from "../../sandbox/inside.ts";

/*
 * A live conversation as a bug file. What is copied is listed here, field by field: directions, states, statuses, and
 * times, which are all shifted by the same length. Ids are new ones. The sandbox then puts generated numbers, names, texts and
 * codes in the place of the others, as in any bug file.
 */

/** A conversation as it was read. */
export interface Captured {
	readonly phoneNumber: string;
	readonly conversation: ConversationDetail;
	/** All of them, the newest first. */
	readonly messages: readonly Message[];
	/** The service's time of the reading, in milliseconds since 1970. */
	readonly now: number;
}

type ArchivedAgency = Archive["agencies"][number];
type Thread = ArchivedAgency["threads"][number];
type StoredMessage = Thread["messages"][number];
type Flow = Thread["flows"][number];

/** The time at which each captured world begins, so that no file tells when it was made. */
const anchor = Date.parse("2026-01-05T09:00:00Z");
const hourMs = 3_600_000;
/** An agency may have set another one, which no read shows. */
const answerWithinMs = 48 * hourMs;
/** Some code, for a message that counts as failed for its error code alone. No read shows it. */
const someErrorCode = 1;

const reasons = ["focus", "unlinked", "tagged", "unknown"] as const;

/** The bug file of a conversation. Nothing in it is anybody's own. */
export function bugOf(captured: Captured): BugFile {
	const { phoneNumber } = captured;
	const sandbox = createSandbox({ now: new Date(anchor) });
	try {
		sandbox.restore({ ...sandbox.snapshot(), world: archiveOf(captured, insideOf(sandbox).world()) });
	} catch (error) {
		if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
		// The name of the field alone, if it has one.
		const [field] = /(?<=threads\[0\]\.)[\w.[\]]+|(?<=agencies\[0\]\.)consent[\w.[\]]*/.exec(error.message) ?? [];
		throw new Error(
			`The service answered with a value that no sandbox can have${field ? `: ${field}` : ""}. Nothing was written. Perhaps a time is none: the command doctor compares the service with the contract.`,
		);
	}
	const bug = sandbox.bug({ contact: phoneNumber });
	const takenAt = new Date(anchor).toISOString();
	return { ...bug, takenAt, events: [], requests: [], gone: { events: 0, requests: 0, answers: 0 } };
}

function archiveOf(captured: Captured, empty: Archive): Archive {
	const [agency] = empty.agencies;
	if (!agency) return empty; // a sandbox has one
	const thread = threadOf(captured, agency.id);
	const counters: readonly (readonly [string, number])[] = [
		["message", thread.messages.length],
		["thread", 1],
		["flow", thread.flows.length],
		["flow update", thread.flows.length],
		["queue", 1],
	];
	const counted = new Set(counters.map(([kind]) => kind));
	return {
		...empty,
		counters: [...empty.counters.filter(([kind]) => !counted.has(kind)), ...counters],
		agencies: [{ ...agency, name: "Agency", consent: consentOf(captured.conversation), threads: [thread] }],
	};
}

function consentOf({ windowReopenReadiness: readiness }: ConversationDetail): ArchivedAgency["consent"] {
	const languages = [...new Set(readiness.availableLanguages)];
	const { defaultLanguage } = readiness;
	return {
		configured: readiness.configured,
		languages,
		defaultLanguage: defaultLanguage !== null && languages.includes(defaultLanguage) ? defaultLanguage : null,
		flowCodes: readiness.flowCodes,
		missingFlowCodes: readiness.missingFlowCodes,
		missingTemplates: readiness.missingTemplates,
		unapprovedTemplates: readiness.unapprovedTemplates.map(({ templateCode, status }) => ({ templateCode, status })),
		answerWithinHours: answerWithinMs / hourMs,
	};
}

function threadOf({ phoneNumber, conversation, messages: newestFirst, now }: Captured, agencyId: string): Thread {
	const { summary, aiSettings, queuedMessages } = conversation;
	const shifted = (at: string): number => Date.parse(at) - now + anchor;
	const shiftedOrNull = (at: string | null): number | null => (at === null ? null : shifted(at));
	const messages: StoredMessage[] = [];
	const oldestFirst = [...newestFirst].reverse();
	const lastInbound = newestFirst.find(({ direction }) => direction === "inbound");
	const firstTime = oldestFirst.find(({ createdAt }) => createdAt !== null)?.createdAt ?? null;
	for (const [index, message] of oldestFirst.entries()) {
		// A message without a time has the summary's time, or came right after the message before it.
		const known = message === oldestFirst.at(-1) ? summary.lastMessageAt : null;
		const received = message === lastInbound ? summary.lastInboundAt : null;
		const at =
			shiftedOrNull(message.createdAt ?? known ?? received) ??
			messages.at(-1)?.at ??
			shiftedOrNull(firstTime) ??
			anchor;
		messages.push(messageOf(message, { id: index + 1, at, shifted, shiftedOrNull }));
	}
	markFailed(messages, summary.failedMessages);
	const inbound = messages.filter(({ outbound }) => !outbound).map(({ at }) => at);
	const opened = shiftedOrNull(summary.windowExpiresAt);
	const from = opened === null ? null : opened - 24 * hourMs;
	const [held] = queuedMessages;
	const isOn = aiSettings.enabled;
	return {
		serial: 1,
		phone: phoneNumber as Thread["phone"],
		name: summary.contactName,
		opened: true,
		shared: summary.visibility.isShared,
		views: [
			{ agencyId, reason: reasons.find((each) => each === summary.visibility.reason) ?? "unknown", hidden: false },
		],
		messages,
		// Of a message that the service counts otherwise, the last one.
		windowFrom: from === null || inbound.includes(from) ? from : (inbound.at(-1) ?? null),
		ai: {
			enabled: isOn,
			reason: isOn ? null : aiSettings.disabledReason === "user_toggle" ? "user_toggle" : "manual_send",
			at: isOn ? null : (shiftedOrNull(aiSettings.disabledAt) ?? anchor),
		},
		flows: flowsOf(summary),
		held: held
			? {
					id: "que_0000000000000001",
					createdAt: shifted(held.createdAt),
					updatedAt: Math.max(shifted(held.updatedAt), shifted(held.createdAt)),
					expiresAt: Math.max(shifted(held.createdAt) + answerWithinMs, anchor + hourMs),
					body: held.body,
					sender: null,
					operationId: null,
					author: "api",
					operation: null,
				}
			: null,
		conflicts: 0,
		reachable: true,
	};
}

interface Place {
	readonly id: number;
	readonly at: number;
	readonly shifted: (at: string) => number;
	readonly shiftedOrNull: (at: string | null) => number | null;
}

function messageOf(message: Message, { id, at, shifted, shiftedOrNull }: Place): StoredMessage {
	const { body, direction, status, deliveredAt, readAt, profileName } = message;
	const outbound = direction === "outbound";
	const iso = (given: string): string => new Date(shifted(given)).toISOString();
	const { media, mediaStored, templateName, buttonClicked, interactiveContent, replyTo } = message;
	const nulls = (["createdAt", "status"] as const).filter((field) => message[field] === null);
	const extras: NonNullable<StoredMessage["extras"]> = {
		...(nulls.length > 0 && { nulls }),
		...(media && {
			media: media.map(({ url, index, contentType, content_type }) => ({
				url,
				...(index === undefined ? {} : { index }),
				...(contentType === undefined ? {} : { contentType }),
				...(content_type === undefined ? {} : { content_type }),
			})),
		}),
		...(mediaStored && {
			mediaStored: mediaStored.map(({ size, stored_url, content_type, original_url, storage_path, downloaded_at }) => ({
				size,
				stored_url,
				content_type,
				original_url,
				storage_path,
				downloaded_at: iso(downloaded_at),
			})),
		}),
		...(templateName === null ? {} : { templateName }),
		...(buttonClicked === null ? {} : { buttonClicked }),
		...(interactiveContent && { interactiveContent: contentOf(interactiveContent) }),
		...(replyTo && {
			replyTo: {
				body: replyTo.body,
				direction: replyTo.direction,
				createdAt: replyTo.createdAt === null ? null : iso(replyTo.createdAt),
				templateName: replyTo.templateName,
				hasMedia: replyTo.hasMedia,
			},
		}),
	};
	return {
		id,
		body,
		outbound,
		at,
		profileName,
		extras: Object.keys(extras).length > 0 ? extras : undefined,
		status: status ?? (outbound ? "sent" : "received"),
		deliveredAt: shiftedOrNull(deliveredAt),
		readAt: shiftedOrNull(readAt),
		errorCode: null,
	};
}

/** The buttons and lists of a message, without fields that the contract does not name. */
function contentOf({ quickReplies, listPicker, ctaButtons }: InteractiveContent): InteractiveContent {
	return {
		...(quickReplies === undefined
			? {}
			: { quickReplies: quickReplies?.map(({ code, text }) => ({ code, text })) ?? null }),
		...(listPicker === undefined
			? {}
			: {
					listPicker: listPicker && {
						...(listPicker.buttonText === undefined ? {} : { buttonText: listPicker.buttonText }),
						items: listPicker.items.map(({ id, title, description }) => ({
							id,
							title,
							...(description === undefined ? {} : { description }),
						})),
					},
				}),
		...(ctaButtons === undefined
			? {}
			: {
					ctaButtons:
						ctaButtons?.map(({ type, title, url, phone, code, ttl_minutes }) => ({
							type,
							title,
							...(url === undefined ? {} : { url }),
							...(phone === undefined ? {} : { phone }),
							...(code === undefined ? {} : { code }),
							...(ttl_minutes === undefined ? {} : { ttl_minutes }),
						})) ?? null,
				}),
	};
}

/** `failedMessages` counts messages with an error code too, which no read shows. */
function markFailed(messages: StoredMessage[], count: number): void {
	const hasFailed = ({ status }: StoredMessage): boolean => status === "failed" || status === "undelivered";
	let missing = count - messages.filter((each) => each.outbound && hasFailed(each)).length;
	for (const message of [...messages].reverse()) {
		if (missing <= 0) return;
		if (!message.outbound || hasFailed(message)) continue;
		message.errorCode = someErrorCode;
		missing--;
	}
}

/** Flows that are counted as the service counts them. The latest one comes last. */
function flowsOf({ activeFlows, completedFlows, latestFlowStatus: latest }: ConversationDetail["summary"]): Flow[] {
	const isActive = latest === "active" || latest === "waiting";
	const statuses = [
		...Array.from({ length: activeFlows - (isActive ? 1 : 0) }, () => "active"),
		...Array.from({ length: completedFlows - (latest === "completed" ? 1 : 0) }, () => "completed"),
		...(latest === null ? [] : [latest]),
	];
	return statuses.map((status, index) => ({ id: index + 1, status, updated: index + 1 }));
}
