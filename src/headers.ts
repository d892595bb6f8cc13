/** A header of an answer. A fetch that is injected can give anything: what cannot be asked has none. */
export function headerOf(headers: Headers, name: string): string | null {
	try {
		const value: unknown = headers.get(name);
		return typeof value === "string" ? value : null;
	} catch {
		return null;
	}
}
