// The argument is the base URL of a service that cuts the connection of each write.
import { tryOnce } from "./once.ts";

tryOnce(process.argv[2] ?? "").catch((error: unknown) => {
	console.error(error);
	process.exit(1);
});
