/** Throws unless it is so. */
export function check(what: string, good: boolean): void {
	if (!good) throw new Error(`not so: ${what}`);
}
