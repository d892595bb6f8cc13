import { type Debugger, type Runtime, Session } from "node:inspector";

/**
 * Reads the local variables of each frame in which something is thrown, in this process, as Sentry's option
 * includeLocalVariables does. Returns a function that ends it, and returns the variables that held one of the secrets.
 *
 * @param deepest how many levels of fields are read. Sentry reads one.
 * @param ours matches the address of a script of this package, whose first group is its name
 */
export function watchVariables(
	secrets: readonly string[],
	ours: RegExp,
	deepest = 3,
): () => { found: string[]; pauses: number } {
	const session = new Session();
	session.connect();
	const scripts = new Map<string, string>();
	const found = new Set<string>();
	let pauses = 0;
	const read = (objectId: string): Runtime.PropertyDescriptor[] => {
		let properties: Runtime.PropertyDescriptor[] = [];
		// In the thread that is paused the answer comes before this returns.
		session.post("Runtime.getProperties", { objectId, ownProperties: true }, (_, answer) => {
			properties = answer?.result ?? [];
		});
		return properties;
	};
	const holds = ({ value, description, objectId, type }: Runtime.RemoteObject, depth: number): boolean => {
		if (typeof value === "string" || type === "string")
			return secrets.some((secret) => String(value ?? description).includes(secret));
		if (!objectId || depth >= deepest || type === "function") return false;
		return read(objectId).some((each) => each.value && each.name !== "__proto__" && holds(each.value, depth + 1));
	};
	session.on("Debugger.scriptParsed", ({ params }) => void scripts.set(params.scriptId, params.url));
	session.on("Debugger.paused", ({ params }: { params: Debugger.PausedEventDataType }) => {
		for (const { location, url, functionName, scopeChain } of params.callFrames) {
			const file = ours.exec(url || scripts.get(location.scriptId) || "");
			if (!file) continue;
			pauses++;
			for (const { type, object } of scopeChain) {
				if (!["local", "block", "catch"].includes(type) || !object.objectId) continue;
				for (const { name, value } of read(object.objectId))
					if (value && holds(value, 0)) found.add(`${file[1]} ${functionName}: ${name}`);
			}
		}
		session.post("Debugger.resume");
	});
	session.post("Debugger.enable");
	session.post("Debugger.setPauseOnExceptions", { state: "all" });
	return () => {
		session.post("Debugger.disable");
		session.disconnect();
		return { found: [...found], pauses };
	};
}
