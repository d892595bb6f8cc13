import type { components } from "../../../generated/openapi.ts";

/** The schemas of the contract, by name. */
export type Schemas = components["schemas"];
