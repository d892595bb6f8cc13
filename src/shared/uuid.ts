/** Whether a value is a UUID, of any version. */
export function isUuid(value: unknown): boolean {
	return typeof value === "string" && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value);
}
