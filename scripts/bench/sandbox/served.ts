/** The sandbox over HTTP, in a process of its own. */
import { createSandbox } from "../../../src/sandbox/index.ts";
import { serve } from "../../../src/sandbox/server.ts";

const sandbox = createSandbox({ scenario: "busy" });
const { baseUrl } = await serve(sandbox, { port: 0 });
process.send?.({ port: Number(new URL(baseUrl).port) });
