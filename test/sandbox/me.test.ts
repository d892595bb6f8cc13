import { expect, test } from "vitest";
import { me, throughEachEntryPoint } from "./entry-points.ts";

throughEachEntryPoint((open) => {
	test("R40 returns the integration, its agencies and the key's scopes", async () => {
		const box = await open();
		const body = (await me(box)).ok();
		expect(Object.keys(body).sort()).toEqual(["agencies", "integration", "scopes"]);
		expect(body.integration.id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
		expect(body.integration.name).not.toBe("");
		expect(body.agencies.map((agency) => agency.id)).toEqual([box.agency.id]);
	});

	test("R41 sorts agencies by name whatever the case, those without one last, ties by id", async () => {
		const box = await open();
		box.agency.rename("middle");
		const names = ["Zeta", "alpha", null, "Beta", "beta", null, "ALPHA"];
		for (const name of names) box.sandbox.link({ name });
		const { agencies } = (await me(box)).ok();
		const folded = agencies.map((agency) => agency.name?.toLowerCase() ?? null);
		expect(folded).toEqual(["alpha", "alpha", "beta", "beta", "middle", "zeta", null, null]);
		for (const [index, agency] of agencies.entries()) {
			const next = agencies[index + 1];
			if (next && folded[index] === folded[index + 1]) expect(agency.id < next.id).toBe(true);
		}
	});

	test("R42 names an agency by agy_ and hexadecimal digits, and by a name or null", async () => {
		const box = await open();
		box.sandbox.link({ name: "Second" });
		box.agency.rename(null);
		const { agencies } = (await me(box)).ok();
		for (const agency of agencies) {
			expect(Object.keys(agency).sort()).toEqual(["id", "name"]);
			expect(agency.id).toMatch(/^agy_[0-9a-f]+$/);
		}
		expect(agencies.map((agency) => agency.name)).toEqual(["Second", null]);
	});

	test("R43 shows a newly linked agency at once, an unlinked one no more, and none as an empty list", async () => {
		const box = await open();
		const late = box.sandbox.link({ name: "Late" });
		expect((await me(box)).ok().agencies).toHaveLength(2);
		late.unlink();
		expect((await me(box)).ok().agencies.map((agency) => agency.id)).toEqual([box.agency.id]);
		box.agency.unlink();
		expect((await me(box)).ok().agencies).toEqual([]);
	});

	test("R44 returns the scopes of the key that asks, reading before writing", async () => {
		const box = await open();
		const scopesOf = async (key: string) => (await me(box, { key })).ok().scopes;
		const swapped = box.sandbox.keys.create({ scopes: ["messages:write", "conversations:read"] });
		expect(await scopesOf(swapped.apiKey)).toEqual(["conversations:read", "messages:write"]);
		box.sandbox.keys.setScopes(swapped.id, ["messages:write", "messages:write"]);
		expect(await scopesOf(swapped.apiKey)).toEqual(["messages:write"]);
		expect(await scopesOf(box.key)).toEqual(["conversations:read", "messages:write"]);
	});
});
