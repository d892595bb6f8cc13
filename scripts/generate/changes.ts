/** What differs between two JSON documents, one line a difference, each named by its path. */
export function describeChanges(before: unknown, after: unknown, path = ""): string[] {
	if (JSON.stringify(before) === JSON.stringify(after)) return [];
	if (!isObject(before) || !isObject(after)) {
		return [`~ ${path || "/"}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`];
	}
	return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) => {
		const at = `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
		if (!(key in after)) return [`- ${at}`];
		if (!(key in before)) return [`+ ${at}`];
		return describeChanges(before[key], after[key], at);
	});
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null;
}
