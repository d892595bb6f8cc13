import http from "node:http";
import { expect, test } from "vitest";
import { controlOf, nodeTransport } from "../adapters.ts";
import { listening } from "./listening.ts";

test("headers are read as in fetch: repeated ones are joined, and listed one by one", async () => {
	const server = http.createServer((_, answer) => {
		answer.writeHead(200, [
			["X-Twice", "a"],
			["X-Twice", "b"],
			["Retry-After", "1"],
			["Retry-After", "2"],
			["ETag", "e"],
			["Vary", "v"],
		]);
		answer.end();
	});
	const { url } = await listening(server);
	const request = { method: "GET", url, headers: {}, body: undefined, noStore: false, once: false };
	const { headers } = await nodeTransport()(request, controlOf(1000));
	expect([headers.get("x-twice"), headers.get("retry-after"), headers.get("absent")]).toEqual([
		"a, b",
		"1, 2",
		undefined,
	]);
	expect(headers.get("vary")).toBe("v");
	expect([...headers]).toContainEqual(["x-twice", "a"]);
	expect([...headers]).toContainEqual(["x-twice", "b"]);
	expect(new Headers([...headers]).get("x-twice")).toBe("a, b");
});
