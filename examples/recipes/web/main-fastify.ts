import { createFastifyApp } from "./fastify.ts";
import { createMessaging } from "./messaging.ts";

const app = createFastifyApp(createMessaging());
await app.listen({ port: Number(process.env.PORT ?? 3000) });
console.log(`listening on ${JSON.stringify(app.server.address())}`);
// Requests that are being answered are finished
process.once("SIGTERM", () => app.close());
