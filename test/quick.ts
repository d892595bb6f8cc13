import { randomUUID } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/**
 * A copy of a program, beside it, with other options than the ones its readers should use, such as shorter waits. It
 * exists until the test ends. Throws if the program does not have the code that is replaced.
 */
export function quickCopy(file: string, code: string | RegExp, replacement: string): string {
	const text = readFileSync(file, "utf8");
	const changed = text.replace(code, replacement);
	if (changed === text) throw new Error(`${file} does not have ${code}`);
	const copy = join(dirname(file), `.quick-${randomUUID()}-${basename(file)}`);
	writeFileSync(copy, changed);
	onTestFinished(() => rmSync(copy));
	return copy;
}
