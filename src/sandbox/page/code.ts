import { quoted } from "./curl.ts";
import { sandbox } from "./store.ts";

import type { RequestEvent } from "./words.ts";

/*
 * A request of the log as code that makes it again, exactly as it was. A key that was bad is a variable, because a good one
 * would hide what went wrong.
 */

/** The variable that stands for a key that was not good. */
const badKey = "BAD_KEY";

/** Headers that every program sets by itself. */
const usual =
	/^(host|connection|content-length|accept|accept-encoding|accept-language|user-agent|transfer-encoding|keep-alive|expect|origin|referer|cache-control|pragma|sec-.*)$/;

const urlOf = ({ path, query }: RequestEvent): string => `${location.origin}/api/v1${path}${query && `?${query}`}`;

const textOf = ({ body }: RequestEvent): string | null =>
	body === null ? null : typeof body === "string" ? body : JSON.stringify(body);

const goodKey = ({ key }: RequestEvent): string | undefined =>
	key.state === "valid" ? sandbox.keys.value.find(({ id }) => id === key.id)?.apiKey : undefined;

function headersOf({ headers }: RequestEvent): [string, string][] {
	return Object.entries(headers).filter(([name, value]) => !usual.test(name) && value !== "(masked)");
}

export function curlOfRequest(event: RequestEvent): string {
	const { method, key } = event;
	const text = textOf(event);
	const headers = headersOf(event);
	// curl would add the type of a form.
	if (text !== null && !headers.some(([name]) => name === "content-type")) headers.push(["content-type", ""]);
	return [
		"curl -g",
		...(method === (text === null ? "GET" : "POST") ? [] : ["-X", method]),
		...(key.state === "absent" ? [] : ["-H", authorizationForShell(event)]),
		...headers.flatMap(([name, value]) => ["-H", quoted(value === "" ? `${name}:` : `${name}: ${value}`)]),
		...(text === null ? [] : ["--data-raw", quoted(text)]),
		quoted(urlOf(event)),
	].join(" ");
}

function authorizationForShell(event: RequestEvent): string {
	const key = goodKey(event);
	// Without the variable curl would be refused too, but for another reason: the shell stops before.
	return key === undefined
		? `"Authorization: Bearer \${${badKey}:?set it to the ${badKeyWords(event)}}"`
		: quoted(`Authorization: Bearer ${key}`);
}

/** What the variable stands for. */
const badKeyWords = ({ key: { state } }: RequestEvent): string =>
	`key of this request, which was ${state === "valid" ? "good then" : state}`;

/** Says in code what the variable stands for, if there is one. */
const noteOf = (event: RequestEvent): string =>
	event.key.state === "absent" || goodKey(event) !== undefined ? "" : `// ${badKey}: the ${badKeyWords(event)}\n`;

/** The key in TypeScript. */
function keyInCode(event: RequestEvent): string {
	const key = goodKey(event);
	return key === undefined ? `process.env.${badKey}` : JSON.stringify(key);
}

export function fetchOfRequest(event: RequestEvent): string {
	const { method, key } = event;
	const text = textOf(event);
	const authorization =
		goodKey(event) === undefined ? `\`Bearer \${process.env.${badKey}}\`` : JSON.stringify(`Bearer ${goodKey(event)}`);
	const headers = [
		...(key.state === "absent" ? [] : [`authorization: ${authorization}`]),
		...headersOf(event).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`),
	];
	const init = [
		`method: ${JSON.stringify(method)}`,
		`headers: { ${headers.join(", ")} }`,
		...(text === null ? [] : [`body: ${JSON.stringify(text)}`]),
	];
	return `${noteOf(event)}await fetch(${JSON.stringify(urlOf(event))}, {\n\t${init.join(",\n\t")},\n});`;
}

/** The call of the client; undefined for a request that the client does not make. */
export function clientOfRequest(event: RequestEvent): string | undefined {
	const { key, operation, agencyId } = event;
	const call = callOf(event);
	if (call === undefined || operation === null || key.state === "absent") return undefined;
	const of = agencyId === null ? "" : `.agency(${JSON.stringify(agencyId)})`;
	return `${noteOf(event)}import { createClient } from "messaging-conversations";

const client = createClient({ baseUrl: "${location.origin}/api/v1", apiKey: ${keyInCode(event)} });
await client${of}.${call};`;
}

function callOf({ operation, query, path, body }: RequestEvent): string | undefined {
	const given = Object.fromEntries(new URLSearchParams(query));
	const { pageSize, cursor, search } = given;
	const options = literal({ pageSize: pageSize === undefined ? undefined : Number(pageSize), cursor, search });
	const phone = JSON.stringify(decoded(path.split("/")[4] ?? ""));
	switch (operation) {
		case "me.get":
			return "me.get()";
		case "conversations.list":
			return `conversations.list(${options}).page()`;
		case "conversations.get":
			return `conversations.get(${phone}${options && `, ${options}`})`;
		case "conversations.listMessages":
			return `conversations.listMessages(${phone}${options && `, ${options}`}).page()`;
		case "conversations.lookup":
			return isObject(body) && "phoneNumbers" in body
				? `conversations.lookup(${JSON.stringify(body.phoneNumbers)})`
				: undefined;
		case "messages.send":
			return isObject(body) ? `messages.send(${JSON.stringify(body)})` : undefined;
		default:
			return undefined;
	}
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

function literal(fields: Readonly<Record<string, unknown>>): string {
	const text = JSON.stringify(fields);
	return text === "{}" ? "" : text;
}

function decoded(segment: string): string {
	try {
		return decodeURIComponent(segment);
	} catch {
		return segment;
	}
}
