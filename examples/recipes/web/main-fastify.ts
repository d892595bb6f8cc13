import { createFastifyApp } from "./fastify.ts";
import { createMessaging } from "./messaging.ts";

const app = createFastifyApp(createMessaging());
await app.listen({ port: Number(process.env.PORT ?? 3000) });
console.log(`listening on ${JSON.stringify(app.server.address())}`);
process.once("SIGTERM", () => app.close()); // requests that are being answered are finished
