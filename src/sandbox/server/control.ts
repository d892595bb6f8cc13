import { type Call, textIn } from "../base/call.ts";
import { type Controls, UnknownRoute } from "../routes/controls.ts";

/** The response of a control route. */
export interface ControlAnswer {
	readonly status: number;
	readonly result: unknown;
}

/** Answers a request for a control. `target` is path and query below `/_sandbox`. */
export function answerControl(controls: Controls, method: string, target: string, body: Call["body"]): ControlAnswer {
	try {
		return { status: 200, result: controls(method, target, method === "GET" ? undefined : fieldsIn(textIn(body))) };
	} catch (error) {
		const message = error instanceof Error ? error.message : String(error);
		if (error instanceof UnknownRoute) return { status: 404, result: { _tag: "SandboxNotFound", message } };
		return { status: 400, result: { _tag: "SandboxBadRequest", message } };
	}
}

function fieldsIn(body: string): unknown {
	if (body.trim() === "") return {};
	try {
		return JSON.parse(body);
	} catch {
		throw new TypeError("The request body is not JSON.");
	}
}
