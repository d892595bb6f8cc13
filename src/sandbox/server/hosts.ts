import { isIP } from "node:net";

/** Whether this server may be asked by a name. `named` are those of the address it listens on. */
export function hostsOf(port: number, named: readonly string[], allowed: readonly string[]): (host: string) => boolean {
	const own = new Set(
		["127.0.0.1", "localhost", ...named].flatMap((name) => [`${name}:${port}`, ...(port === 80 ? [name] : [])]),
	);
	const names = new Set(allowed.map((name) => name.toLowerCase()));
	return (host) => own.has(host.toLowerCase()) || names.has(host.toLowerCase().replace(/:\d+$/, ""));
}

/** The host of a URL that leads to the address. */
export const hostOf = (address: string): string => (isIP(address) === 6 ? `[${address}]` : address);

/** Whether only this machine reaches the address. */
export const isLoopback = (address: string): boolean =>
	address === "localhost" || address === "::1" || (isIP(address) === 4 && address.startsWith("127."));

/**
 * Why a request is refused before anything else happens: another site's page in a browser, or a name that was rebound
 * to this address.
 */
export function strangerIn(
	host: string,
	origin: string | undefined,
	site: string | undefined,
	isOwn: (host: string) => boolean,
): string | undefined {
	if (!isOwn(host)) return "The sandbox answers only to its own host names.";
	if (origin !== undefined && !isOwn(origin.replace(/^http:\/\//i, ""))) return "The sandbox answers no other origin.";
	// A page's request without CORS has no Origin, but browsers say where it comes from.
	if (site === "cross-site" || site === "same-site") return "The sandbox answers no page of another origin.";
	return undefined;
}
