/**
 * The main job of the package, end to end over real HTTP, against its own sandbox. It needs no key and no network, and
 * reaches no real person. `npm run quickstart`
 */
import { createClient, isWindowOpen } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";

const say = (line = ""): void => console.log(line);
const bold = (text: string): string => (process.stdout.isTTY ? `\x1b[1m${text}\x1b[0m` : text);
const step = (title: string): void => say(`\n${bold(title)}`);

// The service, in this process: an agency with 250 conversations and a clock that stands still until we move it.
const sandbox = createSandbox({ scenario: "busy", now: "2026-01-05T09:00:00Z" });
const server = await serve(sandbox, { port: 0 });
say(`The sandbox answers at ${server.baseUrl}`);

try {
	// The client. With a real key and base URL, all that follows is the same.
	const client = createClient({
		baseUrl: server.baseUrl,
		apiKey: sandbox.connection.apiKey,
		retry: { baseDelayMs: 50 },
		onAttempt: ({ operation, attempt, status, errorTag, retryInMs }) => {
			if (retryInMs === undefined) return;
			say(`   attempt ${attempt} of ${operation}: ${status ?? errorTag}, again in ${Math.round(retryInMs)} ms`);
		},
	});

	step("1. Who am I?");
	const { integration, agencies, scopes } = await client.me.get();
	const [only, ...others] = agencies;
	if (!only || others.length > 0) throw new Error("The key reaches no agency, or several: name the one that sends.");
	say(`   ${integration.name} reaches ${agencies.map(({ name }) => name).join(", ")} and may ${scopes.join(", ")}`);
	const agency = client.agency(only.id);

	step("2. All conversations, newest first, page after page as they are used");
	let open = 0;
	let all = 0;
	for await (const conversation of agency.conversations.list()) {
		if (all++ < 3)
			say(`   ${conversation.contactName ?? "(no name)"}: ${conversation.lastMessagePreview ?? "(no text)"}`);
		if (isWindowOpen(conversation, sandbox.clock.now())) open++;
	}
	say(`   … ${all} in all; ${open} would get a text at once, the others are asked for consent first`);

	step("3. Which of these numbers from a CRM do we know?");
	const anna = sandbox.agency().contact("+447700900999", { name: "Anna" });
	anna.writes("Is the flat still free?");
	const messy = ["+44 (0)7700 900999", "+44.7700/900.999", "00447700900999", "+44 7700 900998", "ask reception", "112"];
	for (const { input, phoneNumber, conversation } of await agency.conversations.lookup(messy)) {
		const known = conversation
			? `${conversation.contactName}, "${conversation.lastMessagePreview}"`
			: "no conversation";
		say(
			`   ${input.padEnd(20)} ${phoneNumber ? `${phoneNumber}: ${known}` : "is not a phone number, and was not looked up"}`,
		);
	}

	step("4. Anna wrote a moment ago: her window is open, a text goes out at once");
	const sent = await agency.messages.send({ to: anna.phoneNumber, body: "Yes! The visit is at 14:00." });
	say(`   queued: ${sent.queued}, message ${sent.messageId}`);
	say(`   operationId ${sent.operationId}, made for this send: retried with it, nothing is sent twice`);

	step("5. The service fails once, then loses its answer after sending: one text all the same");
	sandbox.faults.add({ operation: "messages.send", times: 1, phase: "before", effect: { status: 500 } });
	sandbox.faults.add({ operation: "messages.send", times: 1, phase: "after", effect: "reset" });
	const { response } = await agency.messages.send({ to: anna.phoneNumber, body: "Bring your papers." }).withResponse();
	const copies = anna.inbox().filter(({ body }) => body === "Bring your papers.").length;
	say(`   settled after ${response.attempts} attempts; on Anna's phone it arrived ${copies} time`);

	step("6. 25 hours later her window is closed: the text waits for her consent");
	sandbox.clock.advance({ hours: 25 });
	const queued = await agency.messages.send({ to: anna.phoneNumber, body: "Would Friday suit you?" });
	say(`   queued: ${queued.queued}; her phone shows a template: ${anna.inbox().at(-1)?.kind === "template"}`);
	anna.accepts();
	say(`   she accepts, and now it shows: "${anna.inbox().at(-1)?.body}"`);

	step("7. An error says what went wrong, and whether the text was sent");
	const refused = await agency.messages.send({ to: "call me", body: "Hello" }).result();
	if (!refused.ok) say(`   ${refused.error._tag}, ${refused.error.outcome}: ${refused.error.message}`);

	say(`\nDone: ${sandbox.requests().length} requests, ${sandbox.violations().length} violations of the contract.`);
	say("Next: examples/ and the README.");
} finally {
	await server.close();
}
