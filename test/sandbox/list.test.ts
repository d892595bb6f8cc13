import { expect, test } from "vitest";
import {
	ANNA,
	after,
	BELGIAN,
	type Box,
	BRAM,
	CARL,
	call,
	first,
	lengthThrough,
	list,
	listAll,
	listed,
	messages,
	present,
	send,
	throughEachEntryPoint,
} from "./entry-points.ts";

const phone = (index: number) => `+4477009${String(index).padStart(5, "0")}`;

/** So many conversations, a minute apart; the last one made is the newest. */
function crowd(box: Box, count: number): string[] {
	return Array.from({ length: count }, (_, index) => {
		box.sandbox.clock.advance({ minutes: 1 });
		box.agency.contact(phone(index)).writes(`Number ${index}`);
		return phone(index);
	}).reverse();
}

throughEachEntryPoint((open, entryPoint) => {
	test("R45 lists the newest last message first, threads without a message last", async () => {
		const box = await open();
		box.agency.conversation(box.agency.contact("+447700900199")).open();
		const order = crowd(box, 4);
		expect(await listed(box)).toEqual([...order, "+447700900199"]);
		const oldest = present(order[3]);
		box.sandbox.clock.advance({ minutes: 1 });
		await send(box, { to: oldest, body: "Outbound counts as well" });
		expect(await listed(box)).toEqual([oldest, ...order.slice(0, 3), "+447700900199"]);
	});

	test("R45 keeps ties in one order, on one page or on many", async () => {
		const box = await open();
		for (let index = 0; index < 6; index += 1) box.agency.contact(phone(index)).writes("At the same instant");
		for (let index = 6; index < 9; index += 1) {
			box.agency.conversation(box.agency.contact(phone(index))).open();
		}
		const once = await listed(box);
		expect(await listed(box)).toEqual(once);
		expect((await listAll(box, { pageSize: 1 })).map((row) => row.phoneNumber)).toEqual(once);
		expect((await listAll(box, { pageSize: 2 })).map((row) => row.phoneNumber)).toEqual(once);
	});

	test("R46 takes a pageSize of 1 to 100 and uses 50 without one", async () => {
		const box = await open();
		crowd(box, 101);
		expect((await list(box)).ok().conversations).toHaveLength(50);
		expect((await list(box, { pageSize: 1 })).ok().conversations).toHaveLength(1);
		expect((await list(box, { pageSize: 100 })).ok().conversations).toHaveLength(100);
		for (const pageSize of ["0", "101", "-1", "abc", "1.5", "", "1e1", "0x10", "1 0", "NaN", "99999999999999999999"]) {
			expect((await list(box, { pageSize })).refused(400).message, pageSize).toMatch(/pageSize/);
		}
	});

	test("R47 returns the page size that it used", async () => {
		const box = await open();
		expect((await list(box)).ok().pageSize).toBe(50);
		expect((await list(box, { pageSize: 7 })).ok().pageSize).toBe(7);
	});

	test("R48 visits every row once and ends with a null cursor, exactly at the end", async () => {
		const box = await open();
		expect((await list(box)).ok()).toMatchObject({ conversations: [], nextCursor: null });
		const order = crowd(box, 6);
		for (const pageSize of [1, 2, 3, 4, 5, 6, 7]) {
			const rows = await listAll(box, { pageSize });
			expect(rows.map((row) => row.phoneNumber)).toEqual(order);
		}
		expect((await list(box, { pageSize: 6 })).ok().nextCursor).toBeNull();
		expect((await list(box, { pageSize: 5 })).ok().nextCursor).not.toBeNull();
		const { nextCursor } = (await list(box, { pageSize: 3 })).ok();
		expect((await list(box, { pageSize: 3, cursor: present(nextCursor) })).ok().nextCursor).toBeNull();
	});

	test("R48 visits every row of a large agency once, in order, after much coming and going", async () => {
		const box = await open();
		const lastAt = new Map<string, number>();
		const size = lengthThrough(entryPoint, 1300, 250);
		for (let step = 0; step < 2 * size; step += 1) {
			const number = phone(step < size ? (step * 7) % size : (step * step) % size);
			box.sandbox.clock.advance({ ms: 1 });
			box.agency.contact(number).writes("Hello");
			lastAt.set(number, step);
		}
		const wanted = [...lastAt].sort((a, b) => b[1] - a[1]).map(([number]) => number);
		expect(wanted).toHaveLength(size);
		expect((await listAll(box, { pageSize: 100 })).map((row) => row.phoneNumber)).toEqual(wanted);
		expect((await listAll(box, { pageSize: 100, search: "447700" })).map((row) => row.phoneNumber)).toEqual(wanted);
	});

	test("R49 takes the cursor of any row and returns the rows after it", async () => {
		const box = await open();
		const order = crowd(box, 5);
		const { conversations } = (await list(box)).ok();
		for (const [index, row] of conversations.entries()) {
			expect(await listed(box, { cursor: present(row.cursor) })).toEqual(order.slice(index + 1));
		}
	});

	test("R50 refuses a cursor that it did not give for this list", async () => {
		const box = await open();
		const order = crowd(box, 3);
		const anna = box.agency.contact(present(order[0]));
		anna.writes("Second");
		const ofMessages = present((await messages(box, anna.phoneNumber, { pageSize: 1 })).ok().nextCursor);
		const elsewhere = box.sandbox.link({ name: "Elsewhere" });
		elsewhere.contact(ANNA).writes("One");
		elsewhere.contact(BRAM).writes("Two");
		const options = { agencyId: elsewhere.id };
		const ofAnother = present((await list(box, { pageSize: 1 }, options)).ok().nextCursor);
		const own = present((await list(box, { pageSize: 1 })).ok().nextCursor);
		for (const cursor of ["", "garbage", "0", "null", ofMessages, ofAnother, own.slice(0, -1), `${own}x`, `x${own}`]) {
			expect((await list(box, { cursor })).refused(400).message, cursor).toMatch(/cursor/);
		}
		expect(await listed(box, { cursor: own })).toEqual(order.slice(1));
	});

	test("R50 lets pageSize and search change between pages", async () => {
		const box = await open();
		const order = crowd(box, 6);
		const cursor = present((await list(box, { pageSize: 2 })).ok().nextCursor);
		expect(await listed(box, { cursor, pageSize: 3 })).toEqual(order.slice(2, 5));
		expect(await listed(box, { cursor, search: "447700" })).toEqual(order.slice(2));
	});

	test("R51 gives cursors that reveal nothing and differ in length", async () => {
		const box = await open();
		crowd(box, 40);
		const cursors = (await list(box)).ok().conversations.map((row) => present(row.cursor));
		expect(new Set(cursors).size).toBe(40);
		expect(new Set(cursors.map((cursor) => cursor.length)).size).toBeGreaterThan(1);
		for (const [index, cursor] of cursors.entries()) {
			const readable = [cursor, Buffer.from(cursor, "base64url").toString("latin1")].join();
			expect(readable).not.toContain(phone(39 - index).slice(1));
			expect(readable).not.toContain("2026-");
			expect(readable).not.toContain("agy_");
		}
	});

	test("R52 never repeats a row that moves during an iteration", async () => {
		const box = await open();
		const order = crowd(box, 6);
		const one = (await list(box, { pageSize: 2 })).ok();
		box.sandbox.clock.advance({ minutes: 1 });
		const mover = present(order[4]);
		box.agency.contact(mover).writes("I moved up");
		box.sandbox.clock.advance({ minutes: 1 });
		const onTheEdge = present(order[1]);
		box.agency.contact(onTheEdge).writes("So did I, who was the last row");
		const two = (await list(box, { pageSize: 2, cursor: present(one.nextCursor) })).ok();
		const three = (await list(box, { pageSize: 2, cursor: present(two.nextCursor) })).ok();
		expect(three.nextCursor).toBeNull();
		const seen = [...one.conversations, ...two.conversations, ...three.conversations].map((row) => row.phoneNumber);
		expect(seen).toEqual(order.filter((each) => each !== mover));
		expect((await listed(box)).slice(0, 2)).toEqual([onTheEdge, mover]);
	});

	test("R53 finds part of a phone number by three digits or more", async () => {
		const box = await open();
		box.agency.contact(ANNA, { name: "Anna" }).writes("Hello");
		box.agency.contact(BELGIAN, { name: "Bea" }).writes("Hello");
		for (const search of ["101", "7700900", "+44 7700 900101", "44-7700", "(7700)", "900.101", "447700900101"]) {
			expect(await listed(box, { search }), search).toEqual([ANNA]);
		}
		for (const search of ["0470", "0470123456", "00447700900101", "999"]) {
			expect(await listed(box, { search }), search).toEqual([]);
		}
		expect(await listed(box, { search: "32470" })).toEqual([BELGIAN]);
	});

	test("R54 finds part of a name by three letters or more, whatever the case", async () => {
		const box = await open();
		box.agency.contact(ANNA, { name: "Anna Peeters" }).writes("Hello");
		box.agency.contact(BRAM, { name: "René Dupont" }).writes("Hello");
		box.agency.contact(CARL).writes("Hello, I have no name");
		for (const search of ["anna", "ANNA", "eet", "na Pee", "Anna Peeters"]) {
			expect(await listed(box, { search }), search).toEqual([ANNA]);
		}
		for (const search of ["rené", "RENÉ", "dup"]) expect(await listed(box, { search }), search).toEqual([BRAM]);
		for (const search of ["rene", "null", "peetersx"]) expect(await listed(box, { search }), search).toEqual([]);
		box.agency.contact(CARL, { name: "Οδυσσέας Νίκος" });
		for (const search of ["ΟΔΥΣ", "νίκοσ", "ΝΊΚΟΣ"]) expect(await listed(box, { search }), search).toEqual([CARL]);
	});

	test("R54 finds a contact by its own name, whatever signs are in it, and by no name it had before", async () => {
		const box = await open();
		const names = [
			"Unit 815B Holding",
			"Jan (makelaar)",
			"O'Brien-Ünal",
			"A+B Immo",
			"Dr. Peeters, Jan/An",
			"李 Wei Ling",
		];
		for (const [index, name] of names.entries()) box.agency.contact(phone(index), { name }).writes("Hello");
		for (const [index, name] of names.entries()) {
			expect(await listed(box, { search: name }), name).toEqual([phone(index)]);
			expect(await listed(box, { search: name.toUpperCase() }), name).toEqual([phone(index)]);
		}
		box.agency.contact(phone(1), { name: "Jan Janssens" });
		expect(await listed(box, { search: "makelaar" })).toEqual([]);
		expect(await listed(box, { search: "janssens" })).toEqual([phone(1)]);
	});

	test("R54 finds what reading every name and number would find", async () => {
		const box = await open();
		const words = ["Anna", "Annelies", "Peeters", "Peters", "Jan", "Janssens", "De Smet", "Smets", "Immo Zuid"];
		const rows = Array.from({ length: 80 }, (_, index) => {
			box.sandbox.clock.advance({ ms: 1 });
			const name = `${words[(index * 7) % words.length]} ${words[(index * 5 + 3) % words.length]}`;
			const number = `+4477009${String((index * 7919) % 100_000).padStart(5, "0")}`;
			box.agency.contact(number, { name }).writes("Hello");
			return { name: name.toLowerCase(), number };
		}).reverse();
		const letters = ["ann", "ers", "jan", "smet", "immo", "peeters", "s jan", "zuid a", "xyz"];
		for (const search of letters) {
			const wanted = rows.filter((row) => row.name.includes(search)).map((row) => row.number);
			expect(
				(await listAll(box, { search, pageSize: 7 })).map((row) => row.phoneNumber),
				search,
			).toEqual(wanted);
		}
		for (const search of ["447", "0091", "791", "999", "00000", "4477009"]) {
			const wanted = rows.filter((row) => row.number.includes(search)).map((row) => row.number);
			expect(
				(await listAll(box, { search, pageSize: 100 })).map((row) => row.phoneNumber),
				search,
			).toEqual(wanted);
		}
	});

	test("R54 finds no name by letters that only two names together hold", async () => {
		const box = await open();
		for (const [phone, name] of [
			[BRAM, "Nanna"],
			[ANNA, "Hanna"],
		] as const) {
			box.agency.contact(phone, { name }).writes("Hello");
			box.sandbox.clock.advance({ ms: 1 });
		}
		expect(await listed(box, { search: "hannananna" })).toEqual([]);
		expect(await listed(box, { search: "nan" })).toEqual([BRAM]);
	});

	test("R55 matches either the number or the name when a search holds both", async () => {
		const box = await open();
		box.agency.contact(BELGIAN, { name: "Villa 900 Park" }).writes("By name");
		box.sandbox.clock.advance({ minutes: 1 });
		box.agency.contact(ANNA, { name: "Anna" }).writes("By number");
		box.agency.contact("+32475111222", { name: "Carl" }).writes("By neither");
		expect(await listed(box, { search: "villa 900" })).toEqual([ANNA, BELGIAN]);
	});

	test("R56 finds nothing by fewer than three digits and three letters", async () => {
		const box = await open();
		box.agency.contact(ANNA, { name: "Anna12 de 1" }).writes("Hello");
		for (const search of ["an", "12", "a1", "na12", "de 1", "+44", "-", "%"]) {
			expect((await list(box, { search })).ok(), search).toMatchObject({ conversations: [], nextCursor: null });
		}
	});

	test("R56 filters nothing by a short search under policy.shortSearch unfiltered", async () => {
		const box = await open({ policy: { shortSearch: "unfiltered" } });
		const order = crowd(box, 3);
		for (const search of ["an", "12", "a1"]) expect(await listed(box, { search }), search).toEqual(order);
		expect(await listed(box, { search: "nobody" })).toEqual([]);
	});

	test("R57 reads an empty search as none", async () => {
		const box = await open();
		const order = crowd(box, 3);
		expect(await listed(box, { search: "" })).toEqual(order);
	});

	test("R58 keeps order and paging in a search", async () => {
		const box = await open();
		const wanted: string[] = [];
		for (let index = 0; index < 10; index += 1) {
			box.sandbox.clock.advance({ minutes: 1 });
			box.agency.contact(phone(index), { name: index % 2 === 0 ? "Even" : "Odd" }).writes("Hello");
			if (index % 2 === 0) wanted.unshift(phone(index));
		}
		for (const pageSize of [1, 2, 5, 50]) {
			expect((await listAll(box, { search: "even", pageSize })).map((row) => row.phoneNumber)).toEqual(wanted);
		}
		expect((await list(box, { search: "even", pageSize: 5 })).ok().nextCursor).toBeNull();
		expect((await list(box, { search: "nobody" })).ok()).toMatchObject({ conversations: [], nextCursor: null });
	});

	test("R59 gives each row all seventeen fields", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA, { name: "Anna" });
		box.agency.conversation(box.agency.contact(BRAM)).open();
		anna.writes("Hello");
		const { conversations } = (await list(box)).ok();
		expect(conversations.map((row) => Object.keys(row).length)).toEqual([17, 17]);
		const { cursor, ...row } = first(conversations);
		expect(cursor).toBeTypeOf("string");
		expect(row).toEqual({
			phoneNumber: ANNA,
			contactName: "Anna",
			lastMessageAt: after(0),
			lastMessagePreview: "Hello",
			lastMessageDirection: "inbound",
			totalMessages: 1,
			failedMessages: 0,
			activeFlows: 0,
			completedFlows: 0,
			latestFlowStatus: null,
			lastInboundAt: after(0),
			windowExpiresAt: after(24),
			aiEnabled: true,
			queuedMessages: 0,
			isUnlinked: false,
			visibility: { reason: "focus", isShared: false, isVisibleThroughAgencyTag: false },
		});
	});

	test("R60 lists what the agency may see, and why, and nothing else", async () => {
		const box = await open();
		const reasons = ["focus", "unlinked", "tagged", "unknown"] as const;
		for (const [index, reason] of reasons.entries()) {
			const contact = box.agency.contact(phone(index));
			contact.writes("Hello");
			box.agency.conversation(contact).visibleAs(reason);
		}
		const hidden = box.agency.contact(CARL, { name: "Hidden" });
		hidden.writes("Hello");
		box.agency.conversation(hidden).hide();
		const { conversations } = (await list(box)).ok();
		expect(conversations.map((row) => row.visibility.reason).sort()).toEqual([...reasons].sort());
		expect(await listed(box, { search: "hidden" })).toEqual([]);
		const elsewhere = box.sandbox.link({ name: "Elsewhere" });
		expect(await listed(box, {}, { agencyId: elsewhere.id })).toEqual([]);
	});

	test("R165 shows a tagged thread as seen through the tag, and a shared one as shared", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		const visibility = async () => first((await list(box)).ok().conversations).visibility;
		expect(await visibility()).toEqual({ reason: "focus", isShared: false, isVisibleThroughAgencyTag: false });
		box.agency.conversation(anna).visibleAs("tagged");
		expect(await visibility()).toMatchObject({ reason: "tagged", isVisibleThroughAgencyTag: true });
		box.agency.conversation(anna).visibleAs("focus");
		box.agency.conversation(anna).share();
		expect(await visibility()).toMatchObject({ reason: "focus", isShared: true });
	});

	test("R166 lists a thread without messages, but makes none for a name", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA, { name: "Anna" });
		expect(await listed(box)).toEqual([]);
		(await call(box, "GET", `/agencies/${box.agency.id}/conversations/${encodeURIComponent(ANNA)}`)).refused(404);
		box.agency.conversation(anna).open();
		expect((await list(box)).ok().conversations).toMatchObject([
			{
				phoneNumber: ANNA,
				contactName: "Anna",
				totalMessages: 0,
				lastMessageAt: null,
				lastMessagePreview: null,
				lastMessageDirection: null,
				lastInboundAt: null,
				windowExpiresAt: null,
			},
		]);
	});
});
