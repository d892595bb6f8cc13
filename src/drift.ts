import { operationTable } from "../generated/operations.ts";
import { shapes } from "../generated/shapes.ts";
import type { OperationId } from "./errors.ts";
import { quietly } from "./quietly.ts";

/** Something in an answer that the contract does not know. The call still succeeds, and the data keeps it. */
export interface ContractDrift {
	/** The operation whose answer has it. */
	operation: OperationId;
	/** Where, as `conversations[].visibility.reason`; for a missing header its name. Never a value. */
	path: string;
	/**
	 * - `unknown-field`: a field that the contract does not have
	 * - `unknown-value`: a value outside the known ones of a field, such as a new status
	 * - `unsafe-integer`: a whole number beyond 2^53, of which the last digits are lost
	 * - `missing-header`: an answer without `X-Correlation-Id`
	 */
	kind: "unknown-field" | "unknown-value" | "unsafe-integer" | "missing-header";
}

/** Tells the listener what a good answer has that the contract does not know. */
export function tellDrift(
	listener: ((drift: ContractDrift) => unknown) | undefined,
	operation: OperationId,
	data: unknown,
	correlationId: string | undefined,
): void {
	if (!listener) return;
	const found = findDrift(operationTable[operation].answer, data);
	if (!correlationId) found.push({ path: "X-Correlation-Id", kind: "missing-header" });
	for (const drift of found) quietly(() => listener({ operation, ...drift }));
}

/** Walks a checked answer beside its shape; each kind of drift is told once, however many rows have it. */
function findDrift(shape: string, data: unknown): Pick<ContractDrift, "path" | "kind">[] {
	const found = new Map<string, Pick<ContractDrift, "path" | "kind">>();
	visit(shape, data, "");
	return [...found.values()];

	function visit(name: string, value: unknown, path: string): void {
		if (Array.isArray(value)) {
			for (const item of value) visit(name, item, `${path}[]`);
		} else if (typeof value === "object" && value !== null) {
			const fields = fieldsOf(name);
			for (const [key, inner] of Object.entries(value)) {
				const at = path === "" ? printable(key) : `${path}.${printable(key)}`;
				const field = fields.get(key);
				if (field) look(field, inner, at);
				else tell(at, "unknown-field");
			}
		}
	}

	function look(field: Field, value: unknown, path: string): void {
		if (field.shape) visit(field.shape, value, path);
		else if (field.known) {
			for (const one of Array.isArray(value) ? value : [value]) {
				if (typeof one === "string" && !field.known.includes(one)) tell(path, "unknown-value");
			}
		} else if (field.integer && typeof value === "number" && !Number.isSafeInteger(value)) {
			tell(path, "unsafe-integer");
		}
	}

	function tell(path: string, kind: ContractDrift["kind"]): void {
		found.set(`${kind} ${path}`, { path, kind });
	}
}

/** What the contract knows of a field. */
interface Field {
	/** The schema of what is in it, or of its items. */
	shape?: string;
	known?: readonly string[];
	integer?: boolean;
}

const parsed = new Map<string, ReadonlyMap<string, Field>>();

/** The fields of a schema, read from its line when an answer first has it. */
export function fieldsOf(name: string): ReadonlyMap<string, Field> {
	let fields = parsed.get(name);
	if (!fields) {
		fields = new Map(shapes[name]?.split(" ").map(fieldOf));
		parsed.set(name, fields);
	}
	return fields;
}

function fieldOf(text: string): [name: string, field: Field] {
	const [name = "", mark, value = ""] = text.split(/([:=#])(.*)/);
	if (mark === ":") return [name, { shape: value }];
	if (mark === "=") return [name, { known: value.split(",") }];
	return [name, mark ? { integer: true } : {}];
}

/** A field's name is told only where it looks like one: a key can hold a phone number or a text. */
function printable(key: string): string {
	return /^[A-Za-z_][\w-]{0,63}$/.test(key) && !/\d{6}/.test(key) ? key : "?";
}
