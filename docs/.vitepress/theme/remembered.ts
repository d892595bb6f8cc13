const key = "chosen-tabs";

/** The names of tabs that the reader has chosen on any page, the last one first. */
export function rememberedNames(): string[] {
	try {
		const names: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
		return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
	} catch {
		return []; // without storage, or with something else in it
	}
}

export function rememberName(name: string): void {
	const names = [name, ...rememberedNames().filter((other) => other !== name)];
	try {
		localStorage.setItem(key, JSON.stringify(names.slice(0, 20)));
	} catch {
		// The tab is open all the same.
	}
}
