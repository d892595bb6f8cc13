import { basePath } from "../base/call.ts";

/** What a violation of each rule is called. A bug file that was written by hand may call it anything. */
export const violationMessages = {
	R12: `The service has no such path or method. Its operations are below ${basePath}; a server has its controls below /_sandbox.`,
	R69: "The + of a phone number is not written as %2B.",
	R134: "An operationId was reused for another message.",
} as const;
