import { createExpressApp } from "./express.ts";
import { createMessaging } from "./messaging.ts";

const server = createExpressApp(createMessaging()).listen(Number(process.env.PORT ?? 3000), (error) => {
	if (error) throw error;
	console.log(`listening on ${JSON.stringify(server.address())}`);
});
process.once("SIGTERM", () => server.close()); // requests that are being answered are finished
