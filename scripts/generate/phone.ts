import { createRequire } from "node:module";
import { banner, type Json } from "./contract.ts";

const require = createRequire(import.meta.url);

/**
 * The phone library's small set for every country, with Belgium's entry taken from its full set: a Belgian local
 * number is accepted only when it is valid there by type, and only the full set tells types apart.
 */
export function phoneMetadata(): Record<string, string> {
	const small: Json = require("libphonenumber-js/metadata.min.json");
	const full: Json = require("libphonenumber-js/metadata.max.json");
	if (small.version !== full.version) throw new Error("libphonenumber-js: its metadata sets differ in version");
	const metadata = { ...small, countries: { ...small.countries, BE: full.countries.BE } };
	return {
		"phone-metadata.js": `${banner}export default ${JSON.stringify(metadata)};\n`,
		"phone-metadata.d.ts": `${banner}import type { MetadataJson } from "libphonenumber-js/core";

/** Two-letter country codes (ISO 3166-1), those whose numbers are known. */
export type CountryCode = ${Object.keys(metadata.countries)
			.map((code) => JSON.stringify(code))
			.join(" | ")};

declare const metadata: MetadataJson;
export default metadata;
`,
	};
}
