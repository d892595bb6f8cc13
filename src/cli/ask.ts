import type { Host } from "./host.ts";
import { UsageError } from "./options.ts";

/**
 * Asks for a key before something is written. Without a terminal, --yes is needed.
 *
 * @param question such as "Write it?"
 * @param what --yes does, such as "writes the file"
 */
export function isWanted(host: Host, question: string, what: string): Promise<boolean> {
	return new Promise((resolve, reject) => {
		const stop = host.onKeys((key) => {
			stop?.();
			resolve(key === "y" || key === "Y");
		});
		if (!stop) return reject(new UsageError(`There is nobody to ask here. --yes ${what} without a question.`));
		host.onStop(() => {
			stop();
			resolve(false);
		});
		host.print(`${question} Press y, or any other key to leave it.`);
	});
}
