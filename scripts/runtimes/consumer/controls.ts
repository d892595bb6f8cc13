// The controls of a sandbox, over HTTP or in process.
import type { Sandbox } from "messaging-conversations/sandbox";
import type { Controls } from "./exercise.ts";

/** Through the control routes. */
export function controlsOver(controlUrl: string, token: string): Controls & { reset: () => Promise<unknown> } {
	async function control(method: string, path: string, body: unknown = {}): Promise<unknown> {
		const response = await fetch(controlUrl + path, {
			method,
			headers: { "x-sandbox-token": token, "content-type": "application/json" },
			...(method === "GET" ? {} : { body: JSON.stringify(body) }),
		});
		if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
		return response.json();
	}
	return {
		writes: (phone, text) => control("POST", `/contacts/${phone}/writes`, { text }),
		reads: (phone) => control("POST", `/contacts/${phone}/reads`),
		now: async () => new Date(String(Reflect.get(Object(await control("GET", "/clock")), "now"))),
		fault: (fault) => control("POST", "/faults/add", fault),
		inbox: async (phone) => textsOf(await control("GET", `/contacts/${phone}/inbox`)),
		reset: () => control("POST", "/reset"),
	};
}

/** On the sandbox itself. */
export function controlsOf(sandbox: Sandbox): Controls {
	return {
		writes: async (phone, text) => sandbox.agency().contact(phone).writes(text),
		reads: async (phone) => sandbox.agency().contact(phone).reads(),
		now: async () => sandbox.clock.now(),
		fault: async (fault) => sandbox.faults.add(fault),
		inbox: async (phone) => textsOf(sandbox.agency().contact(phone).inbox()),
	};
}

function textsOf(inbox: unknown): string[] {
	const entries: unknown[] = Array.isArray(inbox) ? inbox : [];
	return entries.map((entry) => Reflect.get(Object(entry), "body")).filter((body) => typeof body === "string");
}
