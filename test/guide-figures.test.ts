import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { limits } from "../generated/operations.ts";
import { pages } from "./samples.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The number that a file of src/ has where the pattern has its group. */
function at(file: string, pattern: RegExp): number {
	const [, found = ""] = pattern.exec(readFileSync(`${root}src/${file}`, "utf8")) ?? [];
	if (found === "") throw new Error(`src/${file} has nothing like ${pattern}: this test has to follow it`);
	const factors = found.split("*").map((factor) => factor.trim().replaceAll("_", ""));
	return factors.reduce((product, factor) => product * (/^\d+$/.test(factor) ? Number(factor) : from(file, factor)), 1);
}

/** The number that a file of src/ gives a name, as a constant or as the default of an option. */
const from = (file: string, name: string): number => at(file, new RegExp(`\\b${name} = (\\w+(?: \\* \\w+)*)\\b`));

const s = 1_000;
const minute = 60 * s;
const hour = 60 * minute;
const grouped = (value: number): string => value.toLocaleString("en");
const inWords = (value: number): string =>
	["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"][value] ?? String(value);
const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
function lasting(time: number): string {
	if (time < minute) return `${time / s} s`;
	return time < hour ? `${time / minute} min` : `${time / hour} h`;
}

const limitOf = (kind: "read" | "write", name: string) =>
	at("client/call-state.ts", new RegExp(`${kind}: \\{[^}]*\\b${name}: (\\w+)`));
const read = { timeoutMs: limitOf("read", "timeoutMs"), deadlineMs: limitOf("read", "deadlineMs") };
const write = { timeoutMs: limitOf("write", "timeoutMs"), deadlineMs: limitOf("write", "deadlineMs") };
const retry = (name: string) => at("client/client-options.ts", new RegExp(`defaultRetry\\b.*\\b${name}: (\\w+)`));
const mostAttempts = at("client/client-options.ts", /attempts: optional\(whole\(1, (\d+)\)\)/);
const rememberedIds = at("client/operation-id.ts", /claims = createRecent<.*>\((\d+)\)/);
const minMs = at("sync/watch.ts", /\{ minMs: (\w+), maxMs/);
const maxMs = at("sync/watch.ts", /minMs: \w+, maxMs: (\w+) /);
const contacts = at("outbox/options.ts", /concurrency: given\.concurrency \?\? (\d+)/);
const mostPriority = grouped(from("outbox/given-text.ts", "mostPriority"));
const settleMs = from("outbox/delivery.ts", "defaultSettleMs");
const [list = ""] =
	/(?<=defaultFollowMs = \[).*(?=\])/.exec(readFileSync(`${root}src/outbox/options.ts`, "utf8")) ?? [];
const followMs = list.split(", ").map((ms) => Number(ms.replaceAll("_", "")));
const followed = Math.floor(followMs.reduce((sum, wait) => sum + wait, 0) / hour);
const { pageSize, phoneNumbers } = limits;
const budget = (entry: string) => at("../scripts/sizes.ts", new RegExp(`"src/${entry}index.ts", budget: (\\d+)`));

/** What a page says, with a figure of the code in it. `limits` has to have one of these for each of its numbers. */
const figures: readonly [page: string, ...sentences: string[]][] = [
	[
		"limits",
		`| Rows of a page | ${pageSize.min} to ${pageSize.max}, by default ${pageSize.default} |`,
		`| Numbers in one \`lookup\` request | ${phoneNumbers.max}. `,
		`within its deadline of ${write.deadlineMs / s} seconds. The outbox repeats it for a minute`,
		`| Requests of a call | ${retry("attempts")} | \`retry.attempts\`, 1 to ${mostAttempts} |`,
		`| One attempt | ${read.timeoutMs / s} seconds, sends ${write.timeoutMs / s} |`,
		`| A whole call | ${read.deadlineMs / s} seconds, sends ${write.deadlineMs / s} |`,
		`up to ${retry("baseDelayMs")} ms, doubling up to ${retry("maxDelayMs") / s} seconds`,
		`| \`Retry-After\` that a call waits for | ${from("client/retry.ts", "longestRetryAfterMs") / s} seconds |`,
		`| Retry tokens | ${retry("budget")}; a retry takes ${from("client/retry.ts", "retryCost")} |`,
		`| Ids remembered, to refuse their reuse | at least the last ${grouped(rememberedIds)} |`,
		`| Body of a response | ${from("client/execute.ts", "maxBytes") / 1024 / 1024} MB |`,
		`| Age of a text at its request | ${from("outbox/options.ts", "maxAgeMs") / hour} hours |`,
		`| Requests without a known result | ${from("outbox/requests.ts", "mostLost")}, then \`refused\`, or \`unknown\` if the conversation can't be read |`,
		`| Wait for a lost response | ${settleMs / s} seconds |`,
		`| Following a sent message | ${followed} hours |`,
		`| Contacts at once, in one process | ${contacts} |`,
		`| A hook | ${from("outbox/work/hooks.ts", "hookMs") / s} seconds |`,
		`| Longest pause | ${from("outbox/work/pauses.ts", "longestPauseMs") / minute} minute; ${from("outbox/decide.ts", "longestWaitMs") / minute} for one contact, ${from("outbox/work/pauses.ts", "longestGatewayPauseMs") / minute} for a gateway |`,
		`| \`Retry-After\` that the outbox waits for | ${from("outbox/work/pauses.ts", "hourMs") / hour} hour |`,
		`| Changes that \`settled\` returns | ${at("outbox/settled.ts", /\{ limit = (\d+)/)} | \`limit\`, up to ${grouped(at("outbox/settled.ts", /limit: optional\(whole\(1, (\w+)\)\)/))} |`,
		`| \`priority\` | 0 | -${mostPriority} to ${mostPriority} |`,
		`| Pause between polls | ${minMs / s} seconds to ${maxMs / minute} minutes |`,
		`| How late a message may appear | ${from("sync/feed.ts", "lookbackMs") / minute} minutes |`,
		`| Conversations read at once | ${from("sync/feed.ts", "concurrency")} |`,
		`| Messages followed for their status | ${grouped(from("sync/followed.ts", "mostFollowed"))}, for ${at("sync/followed.ts", /pollAfter: .*, (\d+) \* hour\]/)} hours each |`,
		`| Unreadable conversations kept for another read | ${from("sync/note.ts", "mostFailing")}, for ${from("sync/note.ts", "dayMs") / hour} hours |`,
		`| \`Retry-After\` that \`watch\` waits for | ${from("sync/watch.ts", "longestRetryAfterMs") / hour} hour |`,
	],
	[
		"options",
		`| \`timeoutMs\` | ${grouped(read.timeoutMs)} for reads, ${grouped(write.timeoutMs)} for sends |`,
		`| \`deadline\` | ${grouped(read.deadlineMs)} for reads, ${grouped(write.deadlineMs)} for sends |`,
		`| \`attempts\` | ${retry("attempts")} | Requests in all, counting the first one, 1 to ${mostAttempts}.`,
		`| \`baseDelayMs\` | ${retry("baseDelayMs")} |`,
		`| \`maxDelayMs\` | ${grouped(retry("maxDelayMs"))} |`,
		`A Retry-After of up to ${from("client/retry.ts", "longestRetryAfterMs") / s} seconds`,
		`| \`budget\` | ${retry("budget")} |`,
		`| \`pageSize\` | \`list\` | ${pageSize.default} | Rows in a page, ${pageSize.min} to ${pageSize.max}. |`,
		`Each asks for up to ${phoneNumbers.max} numbers.`,
		`at most ${from("client/node-connections.ts", "longestMs") / minute} minutes, otherwise ${grouped(from("client/node-connections.ts", "unannouncedMs"))}`,
		`| \`maxAgeMs\` | ${grouped(from("client/node-transport.ts", "maxAgeMs"))}, which`,
		`| \`lookbackMs\` | \`changes\`, \`watch\` | ${grouped(from("sync/feed.ts", "lookbackMs"))} |`,
		`| \`minMs\` | \`watch\` | ${grouped(minMs)} |`,
		`| \`maxMs\` | \`watch\` | ${grouped(maxMs)} |`,
		`yields 1 to ${grouped(at("sync/feed.ts", /"size", size, 1, (\w+)\)/))} changes at once`,
		`| \`concurrency\` | all | ${from("sync/feed.ts", "concurrency")} |`,
		`| \`defaultMaxAgeMs\` | ${grouped(from("outbox/options.ts", "maxAgeMs"))} (${from("outbox/options.ts", "maxAgeMs") / hour} hours) |`,
		`| \`settleMs\` | ${grouped(settleMs)} |`,
		`| \`followMs\` | ${followMs.map(lasting).join(", ")} |`,
		`| \`concurrency\` | ${contacts} | Contacts`,
		`From -${mostPriority} to ${mostPriority}.`,
		`takes more than ${from("outbox/work/hooks.ts", "hookMs") / s} seconds, nothing is sent`,
		`| \`pollSeconds\` | \`pgBossEngine\` | ${from("outbox/engines/pg-boss.ts", "pollSeconds")} |`,
	],
	[
		"faults",
		`| Attempts | ${retry("attempts")} requests in all, for reads and sends. \`retry.attempts\` takes 1 to ${mostAttempts},`,
		`The bound is ${retry("baseDelayMs")} ms (\`baseDelayMs\`) and doubles with each attempt up to ${retry("maxDelayMs") / s} s`,
		`More than ${from("client/retry.ts", "longestRetryAfterMs") / s} s ends the call`,
		`\`timeoutMs\`: ${read.timeoutMs / s} s for reads, ${write.timeoutMs / s} s for sends.`,
		`\`deadline\`: ${read.deadlineMs / s} s for reads, ${write.deadlineMs / s} s for sends.`,
		`| Retry budget | ${retry("budget")} tokens for each client. A retry takes ${from("client/retry.ts", "retryCost")}.`,
		`It remembers at least the last ${grouped(rememberedIds)} ids.`,
	],
	[
		"errors-and-retries",
		`up to ${retry("attempts")} requests in all`,
		`\`timeoutMs\` limits one attempt (${read.timeoutMs / s} seconds, sends ${write.timeoutMs / s}). \`deadline\` limits the whole call with its waits (${read.deadlineMs / s} seconds, sends ${write.deadlineMs / s})`,
		`the reuse of at least its last ${grouped(rememberedIds)} ids`,
	],
	[
		"not-sent",
		`| \`failing\` | ${capital(inWords(from("outbox/requests.ts", "mostLost")))} requests failed`,
		`refused this text ${inWords(from("outbox/requests.ts", "mostBlocked"))} times`,
		`After ${inWords(from("outbox/requests.ts", "mostLost"))} requests, in some six hours`,
		`threw, took more than ${from("outbox/work/hooks.ts", "hookMs") / s} seconds`,
		`or ${from("outbox/options.ts", "maxAgeMs") / hour} hours since \`enqueue\` or \`notBefore\``,
		`to a minute, to ${inWords(from("outbox/decide.ts", "longestWaitMs") / minute)} minutes for one contact, or to ${from("outbox/work/pauses.ts", "longestGatewayPauseMs") / minute} minutes for \`gateway\``,
		`up to ${inWords(from("outbox/requests.ts", "quickTries"))} requests within a minute`,
		`until ${from("outbox/decide.ts", "consentMs") / hour} hours after the request`,
		`for ${followed} hours by default`,
		`at least every ${inWords(from("outbox/decide.ts", "longestWaitMs") / minute)} minutes`,
	],
	[
		"databases",
		`After ${inWords(from("outbox/stores/retry.ts", "longestWaitMs") / s)} seconds the worker pauses (\`database\`)`,
	],
	["consent", `takes more than ${from("outbox/work/hooks.ts", "hookMs") / s} seconds, nothing is sent`],
	["not-sent", `is less than ${settleMs / s} seconds old (\`settleMs\`)`],
	[
		"sending",
		`| lost: the send ended as \`unknown\` | ${settleMs / s} seconds,`,
		`A clock that is behind by more than ${inWords(from("outbox/match.ts", "slackMs") / s)} seconds`,
	],
	["durable-sends", `or after \`settleMs\` (${settleMs / s} seconds) if it died during a request`],
	["durable-sends", `doesn't request it after ${from("outbox/options.ts", "maxAgeMs") / hour} hours`],
	["mirroring", `from \`minMs\` (${minMs / s} s) to \`maxMs\` (${maxMs / minute} min)`],
	[
		"mirroring-limits",
		`A feed follows at most ${grouped(from("sync/followed.ts", "mostFollowed"))} messages.`,
		`At most ${from("sync/note.ts", "mostFailing")} conversations wait for that.`,
		`until ${inWords(from("sync/read.ts", "mostInARow"))} reads in a row fail`,
		`After ${from("sync/note.ts", "dayMs") / hour} hours the conversation is left to \`reconcile\``,
		`shows nothing new for ${from("sync/list.ts", "mostPagesInVain") === 100 ? "a hundred" : "?"} pages`,
		`or after its \`Retry-After\` of up to ${from("sync/limited.ts", "longestMs") === minute ? "a minute" : "?"}`,
	],
	[
		"runbook",
		`at least every ${from("outbox/work/pauses.ts", "longestGatewayPauseMs") / minute} minutes`,
		`of up to ${from("client/retry.ts", "longestRetryAfterMs") / s} seconds`,
	],
	[
		"command-line",
		`less than ${from("cli/doctor/network.ts", "fewDays")} days left`,
		`of the service, to ${from("cli/doctor/service.ts", "mostClockOffMs") / s} seconds`,
		`${inWords(from("cli/doctor/service.ts", "reads"))} reads, one after another, within ${from("cli/doctor/service.ts", "longestReadsMs") / s} seconds`,
	],
	[
		"which-part",
		`up to ${inWords(followMs.length)} to follow it`,
		`polls every ${minMs / s} seconds to ${maxMs / minute} minutes`,
		`at most ${budget("")} kB, compressed`,
		`at most ${budget("sync/")} kB more`,
		`at most ${budget("outbox/")} kB more`,
	],
];

const textOf = (page: string): string => pages.find(({ name }) => name === `docs/${page}.md`)?.text ?? "";

test.each(figures)("the figures of docs/%s.md are those of the code", (page, ...sentences) => {
	for (const sentence of sentences) expect(textOf(page)).toContain(sentence);
});

/** What the documentation of the service says: test/sandbox tests that it is so. */
const documented = [
	"3 or more digits of a number, or 3 or more letters of a name",
	"24 hours after the contact's last message",
	"48 hours, unless the agency changed it",
	"until the contact writes more than 24 hours later",
];

test("docs/limits.md has no number that the code does not give it", () => {
	const [, ...own] = figures.find(([page]) => page === "limits") ?? [];
	const prose = textOf("limits").replace(/^```.*?^```/gms, "");
	const rest = [...own, ...documented, "Obeys a 429"].reduce((text, sentence) => text.replace(sentence, ""), prose);
	expect(rest.match(/.*\d.*/g) ?? []).toEqual([]);
});
