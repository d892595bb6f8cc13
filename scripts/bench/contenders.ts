import axios from "axios";
import ky from "ky";
import OpenAI from "openai";
import createOpenapiFetch from "openapi-fetch";
import Stripe from "stripe";
import { request } from "undici";
import type { paths } from "../../generated/openapi.ts";
import { client as heyApi } from "./build/hey-api/client.gen.ts";
import { conversationsList, messagesSend } from "./build/hey-api/sdk.gen.ts";
import { createClient, type Transport } from "./build/index.js";
import { nodeHttp } from "./build/node.js";

/** A page as everybody reads it. */
export interface Page {
	conversations: readonly { phoneNumber: string }[];
	nextCursor: string | null;
}

export interface Contender {
	name: string;
	send: () => Promise<unknown>;
	list: (agencyId: string, cursor?: string) => Promise<Page>;
	/** Every row of every page, `each` after the last row of a page. */
	walk: (agencyId: string, each?: () => Promise<unknown>) => Promise<number>;
}

/** The loop that a caller writes by hand. */
function loopOver(list: Contender["list"]): Contender["walk"] {
	return async (agencyId, each) => {
		let cursor: string | undefined;
		let rows = 0;
		do {
			const page = await list(agencyId, cursor);
			for (const row of page.conversations) if (row.phoneNumber) rows++;
			await each?.();
			cursor = page.nextCursor ?? undefined;
		} while (cursor !== undefined);
		return rows;
	};
}

const apiKey = "bench_live.key.secret";
const message = { to: "+447700900101", body: "The visit is at 14:00." };
/** What a caller without a client of ours has to make for each send. */
const payload = () => ({ ...message, operationId: crypto.randomUUID() });

export const agencyId = "agy_p1";

/** Our client, over the transport given or the global fetch. */
export const ours = (baseUrl: string, transport?: Transport) => createClient({ baseUrl, apiKey, transport });
export { nodeHttp };

/** Who takes part, in the order in which they take their turns; the first one is what the others are set against. */
export const contenderNames = contendersAt("http://127.0.0.1/api/v1").map(({ name }) => name);

export function contendersAt(baseUrl: string): Contender[] {
	const authorization = `Bearer ${apiKey}`;
	const headers = { accept: "application/json", authorization };
	const posted = { ...headers, "content-type": "application/json" };
	const listUrl = (id: string, cursor?: string) =>
		`${baseUrl}/agencies/${id}/conversations?pageSize=50${cursor ? `&cursor=${cursor}` : ""}`;
	const sendUrl = `${baseUrl}/agencies/${agencyId}/messages`;
	const query = (cursor?: string) => (cursor ? { pageSize: 50, cursor } : { pageSize: 50 });

	const timed = async (url: string, init: RequestInit) => {
		const controller = new AbortController();
		const timer = setTimeout(() => controller.abort(), 15_000);
		try {
			const response = await fetch(url, { ...init, signal: controller.signal });
			if (!response.ok) throw new Error(String(response.status));
			return await response.json();
		} finally {
			clearTimeout(timer);
		}
	};

	const openapi = createOpenapiFetch<paths>({ baseUrl, headers });
	const kyed = ky.create({ prefixUrl: baseUrl, headers });
	const axioed = axios.create({ baseURL: baseUrl, headers });
	heyApi.setConfig({ baseUrl, headers, throwOnError: true });
	const openai = new OpenAI({ apiKey, baseURL: baseUrl });
	const { hostname, port, pathname } = new URL(baseUrl);
	const stripe = new Stripe(apiKey, { host: hostname, port, protocol: "http", telemetry: false });

	const own = (name: string, transport?: Transport): Contender => {
		const client = ours(baseUrl, transport);
		const { messages } = client.agency(agencyId);
		return {
			name,
			send: () => messages.send(message),
			list: (id, cursor) => client.agency(id).conversations.list({ pageSize: 50, cursor }).page(),
			async walk(id, each) {
				let rows = 0;
				for await (const row of client.agency(id).conversations.list({ pageSize: 50 })) {
					if (row.phoneNumber && ++rows % 50 === 0) await each?.();
				}
				return rows;
			},
		};
	};

	const others: Omit<Contender, "walk">[] = [
		{
			name: "fetch",
			send: async () =>
				(await fetch(sendUrl, { method: "POST", headers: posted, body: JSON.stringify(payload()) })).json(),
			list: async (id, cursor) => (await fetch(listUrl(id, cursor), { headers })).json(),
		},
		{
			name: "fetch + own timer",
			send: () => timed(sendUrl, { method: "POST", headers: posted, body: JSON.stringify(payload()) }),
			list: (id, cursor) => timed(listUrl(id, cursor), { headers }),
		},
		{
			name: "undici.request",
			async send() {
				const body = JSON.stringify(payload());
				return (await request(sendUrl, { method: "POST", headers: posted, body })).body.json();
			},
			list: async (id, cursor) => (await (await request(listUrl(id, cursor), { headers })).body.json()) as Page,
		},
		{
			name: "openapi-fetch",
			send: () => openapi.POST("/agencies/{agencyId}/messages", { params: { path: { agencyId } }, body: payload() }),
			async list(id, cursor) {
				const params = { path: { agencyId: id }, query: query(cursor) };
				const { data } = await openapi.GET("/agencies/{agencyId}/conversations", { params });
				return data ?? { conversations: [], nextCursor: null };
			},
		},
		{
			name: "hey-api",
			send: () => messagesSend({ path: { agencyId }, body: payload() }),
			async list(id, cursor) {
				const { data } = await conversationsList({ path: { agencyId: id }, query: query(cursor) });
				return data ?? { conversations: [], nextCursor: null };
			},
		},
		{
			name: "ky",
			send: () => kyed.post(`agencies/${agencyId}/messages`, { json: payload() }).json(),
			list: (id, cursor) => kyed.get(`agencies/${id}/conversations`, { searchParams: query(cursor) }).json(),
		},
		{
			name: "axios",
			send: async () => (await axioed.post(`/agencies/${agencyId}/messages`, payload())).data,
			list: async (id, cursor) => (await axioed.get(`/agencies/${id}/conversations`, { params: query(cursor) })).data,
		},
		{
			name: "openai",
			send: () => openai.post(`/agencies/${agencyId}/messages`, { body: payload() }),
			list: (id, cursor) => openai.get(`/agencies/${id}/conversations`, { query: query(cursor) }),
		},
		{
			name: "stripe",
			send: () => stripe.rawRequest("POST", `${pathname}/agencies/${agencyId}/messages`, payload()),
			async list(id, cursor) {
				const path = `${pathname}/agencies/${id}/conversations?pageSize=50${cursor ? `&cursor=${cursor}` : ""}`;
				return (await stripe.rawRequest("GET", path)) as unknown as Page;
			},
		},
	];
	const [bare, timer, ...rest] = others.map((each): Contender => ({ ...each, walk: loopOver(each.list) }));
	const all = [bare, timer, own("this package"), own("this package, nodeHttp", nodeHttp()), ...rest];
	return all.filter((each) => each !== undefined);
}
