import type { Client, Me } from "messaging-conversations";
import { type Connection, clientOf } from "../connection.ts";
import type { Host } from "../host.ts";
import { type Advice, adviceFor } from "./advice.ts";
import { checkAgencies, checkErrors } from "./agencies.ts";
import { type Check, skip } from "./check.ts";
import { checkContract } from "./drift.ts";
import { checkNetwork } from "./network.ts";
import {
	checkClock,
	checkKey,
	checkLatency,
	checkScopes,
	type Published,
	readPublished,
	readWithKey,
} from "./service.ts";
import { checkBaseUrl, checkKeyForm } from "./settings.ts";

/** Runs the checks in the order in which a call depends on them. It only reads. */
export async function* examine(
	connection: Connection,
	{ variable, fetch }: Host,
	agencyId?: string,
): AsyncGenerator<Check, void, undefined> {
	const [address, form] = [checkBaseUrl(connection), checkKeyForm(connection)];
	yield address;
	yield form;
	if (address.state === "fail") {
		for (const id of ["dns", "connection", "tls"]) yield skip(id, "base-url failed");
		return yield* skipService("base-url failed");
	}
	const baseUrl = (connection.baseUrl.value?.reveal() ?? "").trim().replace(/\/+$/, "");
	const proxy = proxyOf(variable);
	let asked: Published | undefined;
	let failed: string | undefined;
	for await (const check of checkNetwork(new URL(baseUrl), variable)) {
		if (check.state === "fail" && proxy !== undefined) asked ??= await readPublished(baseUrl, fetch);
		const isReached = check.state === "fail" && asked?.status !== undefined;
		if (check.state === "fail" && !isReached) failed = check.id;
		yield isReached ? throughProxy(check, proxy) : check;
	}
	if (failed !== undefined) return yield* skipService(`${failed} failed`);

	const advice = adviceFor(connection.apiKey.value);
	const published = asked ?? (await readPublished(baseUrl, fetch));
	yield checkClock(published);
	if (form.state === "fail") {
		yield* skipKey("key-form failed");
		return yield checkContract(published);
	}
	const client = clientOf(connection, { fetch, retry: { attempts: 2 }, appInfo: { name: "doctor" } });
	const { check, me } = await checkKey(client, advice);
	yield check;
	yield* me ? checkReach(client, me, { agencyId, advice }) : skipReach("key failed");
	yield checkContract(me ? await readWithKey(published, client) : published);
}

/** The variable that names a proxy, if there is one. */
const proxyOf = (variable: Host["variable"]): string | undefined =>
	["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"].find((name) => variable(name));

/** A check of the direct way, if fetch gets an answer all the same. */
const throughProxy = ({ id, what }: Check, proxy = ""): Check => ({
	id,
	state: "warn",
	what: `Directly: ${what} fetch gets an answer through the proxy of ${proxy}.`,
	remedy: "The checks below use fetch, like a client without nodeHttp. nodeHttp needs its option proxy.",
});

async function* checkReach(
	client: Client,
	me: Me,
	{ agencyId, advice }: { readonly agencyId: string | undefined; readonly advice: Advice },
): AsyncGenerator<Check, void, undefined> {
	yield checkScopes(me, advice);
	const agencies = me.agencies.filter(({ id }) => agencyId === undefined || id === agencyId);
	if (agencies.length === 0) {
		const what =
			agencyId === undefined
				? "No agency is linked to the integration."
				: "The key does not reach the agency of --agency.";
		// The id may be mistyped.
		const lookUp = me.agencies.length > 0 ? "Without --agency the doctor lists the agencies of the key. " : "";
		const remedy = `${lookUp}${advice.link}`;
		yield { id: "agency", state: "fail", what, remedy };
	} else if (!me.scopes.includes("conversations:read")) yield skip("agency", "the key may not read conversations");
	else yield* checkAgencies(client, agencies, advice);
	const [first] = agencies;
	yield first && me.scopes.includes("conversations:read")
		? await checkErrors(client.agency(first.id), advice)
		: skip("errors", "no agency can be read");
	yield await checkLatency(client, advice);
}

function* skipService(because: string): Generator<Check, void, undefined> {
	yield skip("clock", because);
	yield* skipKey(because);
	yield skip("contract", because);
}

function* skipKey(because: string): Generator<Check, void, undefined> {
	yield skip("key", because);
	yield* skipReach(because);
}

function* skipReach(because: string): Generator<Check, void, undefined> {
	for (const id of ["scopes", "agency", "errors", "latency"]) yield skip(id, because);
}
