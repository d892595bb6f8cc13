/** The fields that are not undefined. */
export function defined<Value>(fields: Readonly<Record<string, Value | undefined>>): Record<string, Value> {
	const found: Record<string, Value> = {};
	for (const [name, value] of Object.entries(fields)) if (value !== undefined) found[name] = value;
	return found;
}
