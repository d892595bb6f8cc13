import type { Policy } from "../sandbox/index.ts";
import { didYouMean, UsageError } from "./options.ts";

/** The words that each policy takes; none for a number. */
const words: Readonly<Record<keyof Policy, readonly string[]>> = {
	shortSearch: ["empty", "unfiltered"],
	lookupInvalid: ["null", "400"],
	templateOnReplace: ["false", "true"],
	declineOpensWindow: ["true", "false"],
	inboundFlushesQueue: ["false", "true"],
	openSendWhileHeld: ["clear", "keep"],
	consentFlowCounts: ["false", "true"],
	sendOverridesToggle: ["false", "true"],
	retryAfterDelivery: ["replay", "resend"],
	retryAfterDrop: ["resend", "replay"],
	retryAfterReplace: ["resend", "replay"],
	operationIdTtlHours: [],
};

const names = Object.keys(words);

/** `name=value`, for completion. */
export const policyPairs: readonly string[] = Object.entries(words).flatMap(([name, values]) =>
	values.length === 0 ? [`${name}=`] : values.map((value) => `${name}=${value}`),
);

/** Each policy with the values that it takes, the default first. */
export const policyHelp = `${Object.entries(words)
	.map(([name, values]) => `${name}=${values.length === 0 ? "<hours>" : values.join("|")}`)
	.join(", ")}.`;

/** `name=value` of each policy; a value is JSON or a word. `createSandbox` checks a number. */
export function policyFrom(given: readonly string[]): Partial<Policy> {
	return Object.fromEntries(given.map(pairFrom));
}

function pairFrom(pair: string): [name: string, value: unknown] {
	const [, name = "", value = ""] = /^(\w+)=(.+)$/.exec(pair) ?? [];
	if (name === "") throw new UsageError("--policy must be name=value, such as --policy openSendWhileHeld=keep.");
	const known = Object.entries(words).find(([each]) => each === name)?.[1];
	// The name is not quoted, because it may be a key.
	if (!known) throw new UsageError(`--policy takes ${names.join(", ")}.${didYouMean(name, names)}`);
	if (known.length > 0 && !known.includes(value)) {
		const choices = known.map((each) => JSON.stringify(each)).join(" or ");
		throw new UsageError(`--policy ${name} must be ${choices}.${didYouMean(value, known)}`);
	}
	const isJson = name !== "lookupInvalid" && /^(true|false|null|\d+(\.\d+)?)$/.test(value);
	return [name, isJson ? JSON.parse(value) : value];
}
