import type { Call } from "../base/call.ts";
import { EncodingError, textFrom } from "../base/encoding.ts";
import { type Controls, UnknownRoute } from "../routes/controls.ts";

/** The response of a control route. */
export interface ControlAnswer {
	readonly status: number;
	readonly result: unknown;
}

/** Answers a request for a control. `target` is path and query below `/_sandbox`. */
export async function answerControl(
	controls: Controls,
	method: string,
	target: string,
	body: Call["body"],
): Promise<ControlAnswer> {
	try {
		const given = method === "GET" ? undefined : fieldsIn(textOf(body));
		return { status: 200, result: await controls(method, target, given) };
	} catch (error) {
		const message = error instanceof Error ? error.message : String(error);
		if (error instanceof UnknownRoute) return { status: 404, result: { _tag: "SandboxNotFound", message } };
		return { status: 400, result: { _tag: "SandboxBadRequest", message } };
	}
}

function textOf(body: Call["body"]): string {
	try {
		return typeof body === "string" ? body : textFrom(body);
	} catch (error) {
		// The name of the file, which a browser or curl has sent, is not known.
		throw error instanceof EncodingError ? new TypeError(`The request body ${error.message}`) : error;
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
