import { isIP } from "node:net";

/** Whether this server may be asked by a name. `named` are the names of the address it listens on. */
export function hostsOf(port: number, named: readonly string[], allowed: readonly string[]): (host: string) => boolean {
	const names = ["127.0.0.1", "localhost", ...named].map((name) => name.toLowerCase());
	const own = new Set(names.flatMap((name) => [`${name}:${port}`, ...(port === 80 ? [name] : [])]));
	const further = new Set(allowed.map((name) => hostOf(name).toLowerCase()));
	return (given) => {
		const [, address, rest = ""] = /^\[([\da-f:.]+)\](:\d+)?$/i.exec(given) ?? [];
		const host = address === undefined ? given.toLowerCase() : hostOf(address) + rest;
		return own.has(host) || further.has(host.replace(/:\d+$/, ""));
	};
}

/** An address without the brackets that it has in a URL. */
export const withoutBrackets = (address: string): string => address.replace(/^\[(.*)\]$/s, "$1");

/** The host of a URL that leads to the address. An IPv6 address has many spellings, and a client sends the shortest. */
export function hostOf(address: string): string {
	const bare = withoutBrackets(address);
	return isIP(bare) === 6 ? new URL(`http://[${bare}]`).hostname : address;
}

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
	if (!isOwn(host))
		return "The sandbox answers only to its own host names. Add this one with --allow-host, or with allowHosts of serve.";
	if (origin !== undefined && !isOwn(origin.replace(/^http:\/\//i, ""))) return "The sandbox answers no other origin.";
	// A page's request without CORS has no Origin, but browsers say where it comes from.
	if (site === "cross-site" || site === "same-site") return "The sandbox answers no page of another origin.";
	return undefined;
}
