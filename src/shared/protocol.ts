/*
 * A program can have several copies of the package: ESM beside CommonJS, 1.0.1 beside 1.0.2, a bundle beside node_modules. What one
 * copy makes works with another one, as long as both mean the same by what they pass to each other. So clients, agencies and
 * sandboxes carry this number, and not the version of the package.
 */

/** Changes when an option, a method or a result that the parts use of each other is new, or gets another meaning. */
export const protocol = 1;

// Registered, because each copy has variables of its own.
const key: unique symbol = /* @__PURE__ */ Symbol.for("messaging-conversations/protocol");

/** Makes an object carry the number. It is enumerable, so that a copy by `{ ...client }` has it too. */
export const withProtocol = <Of extends object>(of: Of): Of => Object.assign(of, { [key]: protocol });

/** How to mend it. */
export const oneVersion =
	'Install one version: "npm ls messaging-conversations" shows which package needs which version';

/** Says which numbers don't fit, and what to do. */
export const otherVersion = (given: number, own: number): string =>
	`is of another version of messaging-conversations: its protocol is ${given}, and this version needs ${own}. ${oneVersion}`;

/** What is wrong with a client, an agency or a sandbox of another protocol. Undefined if nothing is. */
export function protocolProblem(of: unknown): string | undefined {
	const given: unknown = Object(of)[key];
	if (given === protocol) return undefined;
	return Number.isSafeInteger(given)
		? otherVersion(Number(given), protocol)
		: `has no protocol number: another version of messaging-conversations has made it, or other code. ${oneVersion}. A wrapper keeps the number if it begins with { ...original }`;
}
