import { type Field, shapes } from "../../generated/shapes.ts";
import type { Operation } from "../errors.ts";
import { ignoreErrors } from "./ignore-errors.ts";

/** A part of a response that the contract does not know. The call still succeeds, and the data keeps the part. */
export interface ContractDrift {
	/** Operation id of the call. */
	operation: Operation;
	/** Path of the part, such as `conversations[].visibility.reason`, or the name of a header. Never a value. */
	path: string;
	/**
	 * - `unknown-field`: a field that the contract does not have
	 * - `unknown-value`: a value outside the known ones of a field, such as a new status
	 * - `unknown-time`: a time that is not ISO 8601 in UTC
	 * - `unsafe-integer`: a whole number beyond 2^53, whose last digits are lost
	 * - `missing-header`: a response without `X-Correlation-Id`
	 */
	kind: "unknown-field" | "unknown-value" | "unknown-time" | "unsafe-integer" | "missing-header";
}

/** Reports the drift of a valid response, each path and kind once per response. Without a schema there is none. */
export function reportDrift(
	listener: (drift: ContractDrift) => unknown,
	{ operation, schema }: { operation: Operation; schema: string | undefined },
	data: unknown,
	correlationId: string | undefined,
): void {
	if (schema === undefined) return;
	const found = findDrift(schema, data);
	if (!correlationId) found.push({ path: "X-Correlation-Id", kind: "missing-header" });
	for (const drift of found) ignoreErrors(() => listener({ operation, ...drift }));
}

type Found = Pick<ContractDrift, "path" | "kind">;

/** Walks a response beside the shape of its schema. */
function findDrift(shape: string, data: unknown): Found[] {
	const found = new Map<string, Found>();
	const add = (path: string, kind: ContractDrift["kind"]): void => {
		found.set(`${kind} ${path}`, { path, kind });
	};
	const visit = (name: string, value: unknown, path: string): void => {
		if (Array.isArray(value)) {
			for (const item of value) visit(name, item, `${path}[]`);
		} else if (typeof value === "object" && value !== null) {
			for (const [key, inner] of Object.entries(value)) {
				const at = path === "" ? shownName(key) : `${path}.${shownName(key)}`;
				const fields = shapes[name] ?? {};
				const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
				if (field) check(field, inner, at);
				else add(at, "unknown-field");
			}
		}
	};
	const check = (field: Field, value: unknown, path: string): void => {
		if (field.shape !== undefined) {
			visit(field.shape, value, path);
			return;
		}
		for (const one of Array.isArray(value) ? value : [value]) {
			if (typeof one === "string" && field.known?.includes(one) === false) add(path, "unknown-value");
			if (typeof one === "string" && field.time && !isUtcTime(one)) add(path, "unknown-time");
			if (Number.isInteger(one) && !Number.isSafeInteger(one)) add(path, "unsafe-integer");
		}
	};
	visit(shape, data, "");
	return [...found.values()];
}

/** The name of a field if it looks like one, because a key can also hold a phone number or a text. */
function shownName(key: string): string {
	return /^[A-Za-z_][\w-]{0,63}$/.test(key) && !/\d{6}/.test(key) ? key : "?";
}

/** Whether a text is a time of the service: ISO 8601 in UTC, such as `2026-01-05T09:00:00.000Z`. */
export function isUtcTime(text: string): boolean {
	const isForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]00:00)$/.test(text);
	return isForm && !Number.isNaN(Date.parse(text));
}
