import { isLoopback } from "../../shared/hosts.ts";
import type { Connection, Setting } from "../connection.ts";
import { type Check, shown } from "./check.ts";

const form = "https://<host>/api/v1";
const keyForm = "<prefix>_live.<id>.<secret>";

/** Checks the form of the base URL. It never shows a value that is not a plain URL, because it may contain a key. */
export function checkBaseUrl({ baseUrl }: Connection): Check {
	const { name, from } = baseUrl;
	const fail = (what: string, remedy: string): Check => ({ id: "base-url", state: "fail", what, remedy });
	const set = `Set ${name} to ${form}.`;
	const text = (baseUrl.value?.reveal() ?? "").trim();
	if (text === "") return absent("base-url", baseUrl, set);
	if (/_live\./.test(text)) return fail(`There is a key in ${name}.`, `${set} The key belongs in MESSAGING_API_KEY.`);
	if (isQuoted(text)) return fail(`There are quotes around ${name}.`, "Remove the quotes.");
	if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) return fail(`${name} is not a URL.`, set);
	const url = new URL(text);
	// A path that is not the service's can hold a phone number.
	const path = shown(url.pathname.replace(/\/+$/, ""));
	if (url.username || url.password) return fail(`There is a user name or password in ${name}.`, set);
	if (/[?#]/.test(text)) return fail(`There is a query or a fragment in ${name}.`, `${set} Nothing follows /api/v1.`);
	if (url.protocol === "http:" && !isLoopback(url.hostname)) {
		const remedy = `Set ${name}=https://${url.host}${path}, because the key would travel unencrypted.`;
		return fail(`${name} is http, which is for this machine only.`, remedy);
	}
	if (!path.endsWith("/api/v1")) {
		const [before = ""] = path.includes("/api") ? path.split("/api") : [""];
		return fail(
			`${url.origin}${path} does not end in /api/v1.`,
			`Set ${name}=${url.origin}${before}/api/v1, with nothing after it.`,
		);
	}
	return { id: "base-url", state: "ok", what: `${url.origin}${path}, from ${from}.` };
}

/** Checks the form of the key, and never shows a part of it. */
export function checkKeyForm({ apiKey, baseUrl }: Connection): Check {
	const { name, from } = apiKey;
	const value = apiKey.value?.reveal() ?? "";
	const fail = (what: string, remedy: string): Check => ({ id: "key-form", state: "fail", what, remedy });
	if (value.trim() === "") return absent("key-form", apiKey, `Set ${name} to a key from the service's console.`);
	if (value !== value.trim()) {
		return fail(
			`There is white space or a line break around ${name}.`,
			"Remove it: often it comes from a file or a secret.",
		);
	}
	if (isQuoted(value))
		return fail(`There are quotes around ${name}.`, "Remove the quotes: they are not part of the key.");
	if (/^Bearer\b/i.test(value)) return fail(`${name} begins with "Bearer".`, "Remove that word: the client adds it.");
	if (/^https?:/i.test(value)) return fail(`${name} is a URL.`, `Set it to a key; the URL belongs in ${baseUrl.name}.`);
	if (!/^[\x21-\x7e]+$/.test(value)) {
		const remedy = "Copy the key again: word processors and chats change dashes and add spaces.";
		return fail(`There is a space or a character outside ASCII in ${name}.`, remedy);
	}
	const address = baseUrl.value?.reveal() ?? "";
	const url = URL.canParse(address) ? new URL(address) : undefined;
	if (value.startsWith("sandbox_live.") && url && !isLoopback(url.hostname)) {
		return fail(
			`${name} is the key of a sandbox, and the base URL is not a sandbox.`,
			"Set a key from the service's console.",
		);
	}
	if (!/^\w+_live\.[^.]+\.[^.]+$/.test(value)) {
		const remedy = "Compare it with the key as the console showed it: a part may be missing. A key is shown only once.";
		return { id: "key-form", state: "warn", what: `${name} is not of the form ${keyForm}.`, remedy };
	}
	return { id: "key-form", state: "ok", what: `Of the form ${keyForm}, from ${from}.` };
}

function isQuoted(text: string): boolean {
	return /^["'`“‘]|["'`”’]$/.test(text);
}

function absent(id: string, { name, value, from }: Setting, remedy: string): Check {
	const what = value === undefined ? `${name} is not set in ${from}.` : `${name} is empty in ${from}.`;
	return { id, state: "fail", what, remedy: `${remedy} --env reads it from a file.` };
}
