/** On one line and without control characters, which could steer a terminal. */
export function printable(text: string): string {
	return text.replace(/[\p{Cc}\p{Cf}]+/gu, " ");
}
