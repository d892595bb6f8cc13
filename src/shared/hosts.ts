/** Whether the host of a URL is this machine. `*.localhost` is left out, because a name server may answer for it. */
export function isLoopback(hostname: string): boolean {
	return /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}
