import { operationTable } from "../../generated/operations.ts";
import { type Field, shapes } from "../../generated/shapes.ts";
import { ignoreErrors } from "./attempt-event.ts";
import type { Operation } from "./errors.ts";

/** A part of a response that the contract does not know. It changes nothing for the call, and data keep the part. */
export interface ContractDrift {
	/** Operation id of the call. */
	operation: Operation;
	/**
	 * Path of the part, such as `conversations[].visibility.reason`, or the name of a header. Of an error it begins with the tag:
	 * `PartnerNotFound.details`. Never a value.
	 */
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

/** Reports the drift of a valid response, each path and kind once per response. Outside the contract there is none. */
export function reportDrift(
	listener: (drift: ContractDrift) => unknown,
	operation: Operation,
	data: unknown,
	correlationId: string | undefined,
): void {
	if (operation === "request") return;
	const reported = new Set<string>();
	const report = (path: string, kind: ContractDrift["kind"]): void => {
		if (reported.has(`${kind} ${path}`)) return;
		reported.add(`${kind} ${path}`);
		ignoreErrors(() => listener({ operation, path, kind }));
	};
	compare({ shape: operationTable[operation].answer }, data, "", report);
	if (!correlationId) report("X-Correlation-Id", "missing-header");
}

/** Reports the fields of an error of the service that the contract does not have. */
export function reportErrorDrift(
	listener: (drift: ContractDrift) => unknown,
	operation: Operation,
	body: unknown,
): void {
	const { _tag, message, ...unknown }: Record<string, unknown> = Object(body);
	const paths = new Set(Object.keys(unknown).map((name) => `${_tag}.${shownName(name)}`));
	for (const path of paths) ignoreErrors(() => listener({ operation, path, kind: "unknown-field" }));
}

/** Compares a value of a response with what the contract knows about its field. */
function compare(
	field: Field,
	value: unknown,
	path: string,
	report: (path: string, kind: ContractDrift["kind"]) => void,
): void {
	const { shape, known, time } = field;
	if (Array.isArray(value)) {
		for (const item of value) compare(field, item, shape === undefined ? path : `${path}[]`, report);
	} else if (shape === undefined) {
		if (typeof value === "string" && known?.includes(value) === false) report(path, "unknown-value");
		if (typeof value === "string" && time && !isUtcTime(value)) report(path, "unknown-time");
		if (Number.isInteger(value) && !Number.isSafeInteger(value)) report(path, "unsafe-integer");
	} else if (typeof value === "object" && value !== null) {
		const fields = shapes[shape] ?? {};
		for (const [key, inner] of Object.entries(value)) {
			const at = path === "" ? shownName(key) : `${path}.${shownName(key)}`;
			const listed = Object.hasOwn(fields, key) ? fields[key] : undefined;
			if (listed) compare(listed, inner, at, report);
			else report(at, "unknown-field");
		}
	}
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
