// Generated from openapi.json by `npm run generate`. Do not edit.

// biome-ignore-all lint: generated
type Check = (value: any) => string | undefined;
const LookupRequest: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return ": must be an object";
	for (const k in v) if (k !== "phoneNumbers") return `/${k}: is not a field of this request`;
	if (!Array.isArray(v.phoneNumbers)) return "/phoneNumbers: must be an array"; if (v.phoneNumbers.length < 1 || v.phoneNumbers.length > 100) return "/phoneNumbers: must have 1 to 100 items"; for (let i = 0; i < v.phoneNumbers.length; i++) { if (typeof v.phoneNumbers[i] !== "string") return `/phoneNumbers/${i}: must be a string`; if (v.phoneNumbers[i].length < 1 || v.phoneNumbers[i].length > 32) return `/phoneNumbers/${i}: must be 1 to 32 characters long`; }
	return e;
};
const SendMessageRequest: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return ": must be an object";
	for (const k in v) if (k !== "to" && k !== "body" && k !== "operationId" && k !== "subaccountId" && k !== "consentLanguage") return `/${k}: is not a field of this request`;
	if (typeof v.to !== "string") return "/to: must be a string";
	if (typeof v.body !== "string") return "/body: must be a string";
	if (v.operationId !== undefined) { if (typeof v.operationId !== "string") return "/operationId: must be a string"; }
	if (v.subaccountId !== undefined) { if (typeof v.subaccountId !== "string" && v.subaccountId !== null) return "/subaccountId: must be a string or null"; if (typeof v.subaccountId === "string" && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(v.subaccountId)) return "/subaccountId: must be a UUID"; }
	if (v.consentLanguage !== undefined) { if (typeof v.consentLanguage !== "string") return "/consentLanguage: must be a string"; }
	return e;
};
export const requests = { LookupRequest, SendMessageRequest } satisfies Record<string, Check>;
