// Each thing that the entry exports, used once: one that is not here fails, in the compiler and when it runs.
import * as entry from "messaging-conversations";

const phone = "+447700900901";
const at = { baseUrl: "https://messaging.example/api/v1", apiKey: undefined, dangerouslyAllowBrowser: true };

function tags(error: entry.PartnerError, tag: entry.PartnerErrorTag): boolean {
	return error instanceof Error && error instanceof entry.PartnerError && error._tag === tag && error.name === tag;
}

const trials = {
	createClient: () => entry.createClient(at).agency("agy_1").id === "agy_1",
	isE164: () => entry.isE164(phone) && !entry.isE164("0470 12 34 56"),
	isPartnerError: () => entry.isPartnerError(new entry.PartnerConflict("Read first.", {})) && !entry.isPartnerError({}),
	isWindowOpen: () => entry.isWindowOpen({ windowExpiresAt: "2026-01-05T09:00:00Z" }, "2026-01-05T08:59:59Z"),
	// The same in every runtime: callers keep it.
	operationIdFrom: async () =>
		(await entry.operationIdFrom("crm", "note-4711")) === "16a7d330-d2cb-8a5e-9c2d-5be4e7084e57",
	toE164: () => entry.toE164("0470 12 34 56") === "+32470123456",
	cachedKey: async () => (await entry.cachedKey(() => "key")()) === "key",
	PartnerAbortError: () => tags(new entry.PartnerAbortError("", {}), "PartnerAbortError"),
	PartnerConfigurationError: () =>
		tags(new entry.PartnerConfigurationError({ field: "", rule: "" }), "PartnerConfigurationError"),
	PartnerBadRequest: () => tags(new entry.PartnerBadRequest("", {}), "PartnerBadRequest"),
	PartnerConflict: () => tags(new entry.PartnerConflict("", {}), "PartnerConflict"),
	PartnerConnectionError: () => tags(new entry.PartnerConnectionError("", {}), "PartnerConnectionError"),
	PartnerError: () => !(new Error("Not of this package.") instanceof entry.PartnerError),
	PartnerForbidden: () => tags(new entry.PartnerForbidden("", {}), "PartnerForbidden"),
	PartnerGatewayError: () => tags(new entry.PartnerGatewayError("", {}), "PartnerGatewayError"),
	PartnerHeldText: () => tags(new entry.PartnerHeldText("", { sameText: true }), "PartnerHeldText"),
	PartnerInternalError: () => tags(new entry.PartnerInternalError("", {}), "PartnerInternalError"),
	PartnerInvalidInput: () => tags(new entry.PartnerInvalidInput({ field: "", rule: "" }), "PartnerInvalidInput"),
	PartnerNotFound: () => tags(new entry.PartnerNotFound("", {}), "PartnerNotFound"),
	PartnerTimeoutError: () => tags(new entry.PartnerTimeoutError("", {}), "PartnerTimeoutError"),
	PartnerUnauthorized: () => tags(new entry.PartnerUnauthorized("", {}), "PartnerUnauthorized"),
	PartnerUnexpectedResponse: () => tags(new entry.PartnerUnexpectedResponse("", {}), "PartnerUnexpectedResponse"),
} satisfies Record<keyof typeof entry, () => boolean | Promise<boolean>>;

/** Throws where an entry exports something else than what is tried of it. */
export function exactly(exported: object, tried: readonly string[]): void {
	// What a CommonJS module has beside its exports when an ES module imports it.
	const names = Object.keys(exported).filter((name) => !["default", "module.exports", "__esModule"].includes(name));
	if (names.sort().join() !== [...tried].sort().join()) throw new Error(`not so: each of ${names} is tried`);
}

/** Throws where an export is missing, untried, or not what it should be. */
export async function tryExports(): Promise<void> {
	exactly(entry, Object.keys(trials));
	for (const [name, trial] of Object.entries(trials)) if (!(await trial())) throw new Error(`not so: ${name}`);
}
