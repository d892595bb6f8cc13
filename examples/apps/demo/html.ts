// HTML in which every value is escaped, unless it is HTML itself.

export interface Html {
	readonly html: string;
}

type Value = string | number | null | undefined | false | Html | readonly Html[];

export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
	return { html: String.raw({ raw: strings }, ...values.map(shown)) };
}

function shown(value: Value): string {
	if (value === null || value === undefined || value === false) return "";
	if (typeof value !== "object") return String(value).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
	return "html" in value ? value.html : value.map(shown).join("");
}
