/** Whether the host of a URL is this machine. `*.localhost` is left out, because a name server may answer for it. */
export function isLoopback(hostname: string): boolean {
	return /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

/** As a URL writes them, with four parts. */
const privateAddress =
	/^((127|10)(\.\d{1,3}){3}|(192\.168|169\.254|172\.(1[6-9]|2\d|3[01]))(\.\d{1,3}){2}|\[(f[cd]..|fe80):.*\])$/;
const privateName = /^[\w-]+$|\.(localhost|local|internal|svc|test|home\.arpa)$/;

/** Whether the host of a URL is one that only this machine or its network has. A name without a dot is a container's. */
export const isPrivate = (hostname: string): boolean =>
	isLoopback(hostname) || privateAddress.test(hostname) || privateName.test(hostname);
