// How the time of a poll grows with the number of conversations that changed within the lookback, with the checkpoint read
// and stored at each change, against the time of the same requests alone.
// npx tsx scripts/simulate/poll-curve.ts [conversations …]
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { changes } from "messaging-conversations/sync";

for (const count of process.argv.slice(2).map(Number)) {
	const sandbox = createSandbox();
	const { id } = sandbox.agency();
	for (let index = 0; index < count; index++)
		sandbox
			.agency()
			.contact(`+3247${String(index).padStart(7, "0")}`)
			.writes("Is the flat still free?");
	const agency = createClient({ ...sandbox.connection }).agency(id);
	const ratios: number[] = [];
	const seconds: [requests: number, poll: number][] = [];
	for (let round = 0; round < 3; round++) {
		const began = process.cpuUsage();
		const rows = await agency.conversations.list({ pageSize: 99 }).toArray();
		await agency.conversations.list({ pageSize: 99 }).toArray();
		for (let at = 0; at < rows.length; at += 4)
			await Promise.all(
				rows.slice(at, at + 4).map(({ phoneNumber }) => agency.conversations.get(phoneNumber, { pageSize: 100 })),
			);
		const requests = process.cpuUsage(began);
		const middle = process.cpuUsage();
		const feed = changes(agency, { since: "beginning" });
		let stored = "";
		let written = 0;
		for await (const _ of feed) {
			stored = feed.checkpoint;
			written += stored.length;
		}
		const poll = process.cpuUsage(middle);
		const [ofRequests, ofPoll] = [requests, poll].map(({ user, system }) => (user + system) / 1e6) as [number, number];
		ratios.push(ofPoll / ofRequests);
		seconds.push([ofRequests, ofPoll]);
		if (round === 2)
			console.log(`${(written / 1e6).toFixed(0)} MB of checkpoints, the last of ${stored.length} characters`);
	}
	const [ratio] = ratios.sort((a, b) => a - b).slice(1);
	console.log(
		`${count}: ${ratio?.toFixed(2)} times the requests; ${seconds.map((s) => s.map((n) => n.toFixed(2)).join("/")).join(" ")} s`,
	);
}
