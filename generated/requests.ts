// Generated from openapi.json by `npm run generate`. Do not edit.

// biome-ignore-all lint: generated
type Check = (v: any) => string | undefined;
const noObject = (v: any) => typeof v !== "object" || v === null || Array.isArray(v);
const noString = (v: any) => typeof v !== "string";
const noStringOrNull = (v: any) => v !== null && typeof v !== "string";
const noArray = (v: any) => !Array.isArray(v);
const noUuid = (v: any) => v !== null && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(v);
const each = (path: string, list: any[], check: Check) => {
	for (let i = 0; i < list.length; i++) {
		const e = check(list[i]);
		if (e !== undefined) return `${path}/${i}${e}`;
	}
	return undefined;
};
const unknownField = (v: object, known: string[]) => {
	for (const k of Object.keys(v)) if (!known.includes(k)) return `/${k}: is not a field of this request`;
	return undefined;
};
const LookupRequest: Check = (v) =>
	noObject(v) ? ": must be an object" :
	noArray(v.phoneNumbers) ? "/phoneNumbers: must be an array" :
	(v.phoneNumbers.length < 1 || v.phoneNumbers.length > 100) ? "/phoneNumbers: must have 1 to 100 items" :
	unknownField(v, ["phoneNumbers"]) ??
	each("/phoneNumbers", v.phoneNumbers, (v) => noString(v) ? ": must be a string" : [...v].length < 1 || [...v].length > 32 ? ": must be 1 to 32 characters long" : undefined);
const SendMessageRequest: Check = (v) =>
	noObject(v) ? ": must be an object" :
	noString(v.to) ? "/to: must be a string" :
	noString(v.body) ? "/body: must be a string" :
	v.operationId !== undefined && noString(v.operationId) ? "/operationId: must be a string" :
	v.subaccountId !== undefined && noStringOrNull(v.subaccountId) ? "/subaccountId: must be a string or null" :
	v.subaccountId !== undefined && noUuid(v.subaccountId) ? "/subaccountId: must be a UUID" :
	v.consentLanguage !== undefined && noString(v.consentLanguage) ? "/consentLanguage: must be a string" :
	unknownField(v, ["to","body","operationId","subaccountId","consentLanguage"]);
export const requests = { LookupRequest, SendMessageRequest } satisfies Record<string, Check>;
