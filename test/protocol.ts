/* What the functions say of a client, an agency or a sandbox of another copy of the package. */

/** Where a client, an agency and a sandbox carry their number. */
export const protocolKey = Symbol.for("messaging-conversations/protocol");

/** The same, as a copy of the package with another number would make it. */
export const ofNumber = <Of extends object>(of: Of, number: unknown): Of => ({ ...of, [protocolKey]: number });

const fix = 'Install one version: "npm ls messaging-conversations" shows which package needs which version';

/** What is said of one with another number. */
export const another = (number: number): string =>
	`is of another version of messaging-conversations: its protocol is ${number}, and this version needs 1. ${fix}`;

/** What is said of one without a number. */
export const numberless = `has no protocol number: another version of messaging-conversations has made it, or other code. ${fix}. A wrapper keeps the number if it begins with { ...original }`;

/** What a function throws, or what its promise rejects with. */
export async function errorOf(run: () => unknown): Promise<unknown> {
	try {
		await run();
	} catch (error) {
		return error;
	}
	return undefined;
}
