import type { components } from "../../../generated/openapi.ts";
import { operationTable } from "../../../generated/operations.ts";
import { type E164, readPhone } from "../../phone/phone.ts";

export type { E164 };

/** The schemas of the contract, by name. */
export type Schemas = components["schemas"];

/** The operations of the contract, by their operation id. */
export type OperationId = keyof typeof operationTable;

/** The six operation ids. */
export const operationIds = Object.keys(operationTable);

export const isOperationId = (id: string): id is OperationId => Object.hasOwn(operationTable, id);

/** The E.164 form of a number in any spelling, read in Belgium; undefined for text that is not a phone number. */
export function phoneFrom(text: string): E164 | undefined {
	return readPhone(text, "BE").phone;
}
