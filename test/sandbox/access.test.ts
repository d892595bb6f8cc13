import { expect, test } from "vitest";
import { ANNA, agencyCalls, type Box, call, list, me, present, send, throughEachEntryPoint } from "./entry-points.ts";

const YEAR = 365 * 24;

function authorised(box: Box, authorization: string) {
	return me(box, { headers: { authorization } });
}

function parts(key: string): [string, string, string] {
	const [prefix, id, secret] = key.split(".");
	return [present(prefix), present(id), present(secret)];
}

throughEachEntryPoint((open) => {
	test("R19 refuses a request without Authorization with 401", async () => {
		const box = await open();
		(await me(box, { key: null })).refused(401);
		for (const run of Object.values(agencyCalls(box, ANNA, { key: null }))) (await run()).refused(401);
	});

	test("R20 refuses a malformed Authorization with 401", async () => {
		const box = await open();
		const [prefix, id, secret] = parts(box.key);
		const malformed = [
			"Bearer",
			"Bearer ",
			box.key,
			`Basic ${box.key}`,
			`Token ${box.key}`,
			"Bearer nonsense",
			`Bearer ${prefix}.${id}`,
			`Bearer ${prefix}.${id}.`,
			`Bearer ${prefix}..${secret}`,
			`Bearer ${id}.${secret}`,
			`Bearer sandbox_test.${id}.${secret}`,
			`Bearer ${prefix}.${id}.${secret}.more`,
			`Bearer ${box.key} more`,
		];
		for (const authorization of malformed) {
			expect((await authorised(box, authorization)).refused(401)._tag, authorization).toBe("PartnerUnauthorized");
		}
	});

	test("R21 refuses an unknown key id and a wrong secret with 401", async () => {
		const box = await open();
		const [prefix, id, secret] = parts(box.key);
		const other = box.sandbox.keys.create({});
		(await me(box, { key: `${prefix}.${id}x.${secret}` })).refused(401);
		(await me(box, { key: `acme_live.${id}.${secret}` })).refused(401);
		(await me(box, { key: `${prefix}.${id}.${secret}x` })).refused(401);
		(await me(box, { key: `${prefix}.${id}.${secret.slice(0, -1)}` })).refused(401);
		(await me(box, { key: `${prefix}.${id}.${parts(other.apiKey)[2]}` })).refused(401);
	});

	test("R22 refuses a revoked key at once", async () => {
		const box = await open();
		const { id, apiKey } = box.sandbox.keys.create({});
		(await me(box, { key: apiKey })).ok();
		box.sandbox.keys.revoke(id);
		(await me(box, { key: apiKey })).refused(401);
		for (const run of Object.values(agencyCalls(box, ANNA, { key: apiKey }))) (await run()).refused(401);
	});

	test("R23 never lets a key expire by time, but a control can expire it", async () => {
		const box = await open();
		const { id, apiKey } = box.sandbox.keys.create({});
		box.sandbox.clock.advance({ hours: 20 * YEAR });
		(await me(box, { key: apiKey })).ok();
		box.sandbox.keys.expire(id);
		(await me(box, { key: apiKey })).refused(401);
		(await me(box)).ok();
	});

	test("R24 gives the same 401 for every cause", async () => {
		const box = await open();
		const revoked = box.sandbox.keys.create({});
		const expired = box.sandbox.keys.create({});
		box.sandbox.keys.revoke(revoked.id);
		box.sandbox.keys.expire(expired.id);
		const bodies = [
			await me(box, { key: null }),
			await me(box, { key: revoked.apiKey }),
			await me(box, { key: expired.apiKey }),
			await me(box, { key: `${box.key}x` }),
			await authorised(box, "Basic abc"),
			await list(box, {}, { key: "nonsense" }),
			await send(box, {}, { key: null, agencyId: "agy_0" }),
		].map((answer) => [answer.status, answer.text]);
		expect(new Set(bodies.map(String)).size).toBe(1);
		expect(bodies[0]?.[0]).toBe(401);
	});

	test("R25 reads the word Bearer in any case", async () => {
		const box = await open();
		for (const scheme of ["Bearer", "bearer", "BEARER", "bEaReR"]) (await authorised(box, `${scheme} ${box.key}`)).ok();
	});

	test("R26 lets two keys of an integration live side by side", async () => {
		const box = await open();
		const second = box.sandbox.keys.create({});
		const mine = (await me(box)).ok();
		expect((await me(box, { key: second.apiKey })).ok()).toEqual(mine);
		box.sandbox.keys.revoke(second.id);
		(await me(box, { key: second.apiKey })).refused(401);
		expect((await me(box)).ok()).toEqual(mine);
	});

	test("R27 gives a new key both scopes", async () => {
		const box = await open();
		const { apiKey } = box.sandbox.keys.create({});
		expect((await me(box, { key: apiKey })).ok().scopes).toEqual(["conversations:read", "messages:write"]);
		expect((await me(box)).ok().scopes).toEqual(["conversations:read", "messages:write"]);
	});

	test("R28 asks for no scope on /me", async () => {
		const box = await open();
		const { apiKey } = box.sandbox.keys.create({ scopes: [] });
		expect((await me(box, { key: apiKey })).ok().scopes).toEqual([]);
	});

	test("R29 refuses every read without conversations:read, and lets the send through", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		const { apiKey: key } = box.sandbox.keys.create({ scopes: ["messages:write"] });
		const { "messages.send": sends, ...reads } = agencyCalls(box, ANNA, { key });
		expect(Object.keys(reads)).toHaveLength(4);
		for (const run of Object.values(reads)) expect((await run()).refused(403)._tag).toBe("PartnerForbidden");
		expect((await present(sends)()).status).toBe(200);
	});

	test("R30 refuses the send without messages:write, and lets every read through", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		const { apiKey: key } = box.sandbox.keys.create({ scopes: ["conversations:read"] });
		const { "messages.send": sends, ...reads } = agencyCalls(box, ANNA, { key });
		for (const run of Object.values(reads)) expect((await run()).status).toBe(200);
		(await present(sends)()).refused(403);
		expect(anna.inbox()).toEqual([]);
	});

	test("R31 refuses an agency that belongs to another integration", async () => {
		const box = await open();
		const other = box.sandbox.integrations.add({ name: "Other CRM" });
		const theirs = other.link({ name: "Theirs" });
		const { apiKey } = other.keys.create({});
		theirs.contact(ANNA).writes("Hello");
		for (const run of Object.values(agencyCalls(box, ANNA, { agencyId: theirs.id }))) (await run()).refused(403);
		for (const run of Object.values(agencyCalls(box, ANNA, { key: apiKey }))) (await run()).refused(403);
		(await list(box, {}, { key: apiKey, agencyId: theirs.id })).ok();
	});

	test("R32 refuses an agency as soon as its link has ended", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		for (const run of Object.values(agencyCalls(box, ANNA))) expect((await run()).status).toBe(200);
		box.agency.unlink();
		for (const run of Object.values(agencyCalls(box, ANNA))) (await run()).refused(403);
	});

	test("R33 refuses an agency that does not exist", async () => {
		const box = await open();
		for (const run of Object.values(agencyCalls(box, ANNA, { agencyId: "agy_00000000000000000000000000000000" }))) {
			(await run()).refused(403);
		}
	});

	test("R34 refuses a malformed agency id with 403 too", async () => {
		const box = await open();
		for (const agencyId of [
			"nope",
			"agy_",
			"agy_xyz",
			box.agency.id.toUpperCase(),
			`${box.agency.id}%20`,
			"%00",
			"-",
		]) {
			(await list(box, {}, { agencyId })).refused(403);
			(await send(box, { to: ANNA, body: "Hi" }, { agencyId })).refused(403);
		}
	});

	test("R35 answers the same 403 whether the agency is foreign, unlinked, unknown or malformed", async () => {
		const box = await open();
		const foreign = box.sandbox.integrations.add({ name: "Other CRM" }).link({ name: "Theirs" });
		const ended = box.sandbox.link({ name: "Ended" });
		foreign.contact(ANNA).writes("Hello");
		ended.contact(ANNA).writes("Hello");
		ended.unlink();
		const ids = [foreign.id, ended.id, "agy_0123456789abcdef0123456789abcdef", "nope"];
		const bodies = new Set<string>();
		for (const agencyId of ids) {
			for (const run of Object.values(agencyCalls(box, ANNA, { agencyId }))) {
				const answer = await run();
				answer.refused(403);
				bodies.add(answer.text);
			}
			const invalid = await call(box, "POST", `/agencies/${agencyId}/messages`, { body: "{" });
			invalid.refused(403);
			bodies.add(invalid.text);
		}
		expect(bodies.size).toBe(1);
	});

	test("R36 reaches an agency that was linked after the key was made", async () => {
		const box = await open();
		const late = box.sandbox.link({ name: "Late" });
		late.contact(ANNA).writes("Hello");
		for (const run of Object.values(agencyCalls(box, ANNA, { agencyId: late.id })))
			expect((await run()).status).toBe(200);
	});

	test("R37 finds the same id and data after linking again", async () => {
		const box = await open();
		box.agency.contact(ANNA, { name: "Anna" }).writes("Hello");
		const [agencies, rows] = [(await me(box)).ok().agencies, (await list(box)).text];
		box.agency.unlink();
		box.agency.link();
		expect((await me(box)).ok().agencies).toEqual(agencies);
		expect((await list(box)).text).toBe(rows);
	});

	test("R38 answers 404 on /me and 403 elsewhere while the integration is hidden", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		box.sandbox.integration.hide();
		expect((await me(box)).refused(404)._tag).toBe("PartnerNotFound");
		for (const run of Object.values(agencyCalls(box, ANNA))) (await run()).refused(403);
		(await me(box, { key: null })).refused(401);
		box.sandbox.integration.restore();
		(await me(box)).ok();
		(await list(box)).ok();
	});

	test("R39 answers 403 on /me by a fault alone", async () => {
		const box = await open();
		const { apiKey } = box.sandbox.keys.create({ scopes: [] });
		(await me(box, { key: apiKey })).ok();
		box.agency.unlink();
		(await me(box)).ok();
		box.sandbox.faults.add({ operation: "me.get", times: 1, phase: "before", effect: { status: 403 } });
		expect((await me(box)).refused(403)._tag).toBe("PartnerForbidden");
		(await me(box)).ok();
	});
});
