import { createExpressApp } from "./express.ts";
import { createMessaging } from "./messaging.ts";

const server = createExpressApp(createMessaging()).listen(
	Number(process.env.PORT ?? 3000),
	(error) => {
		if (error) throw error;
		console.log(`listening on ${JSON.stringify(server.address())}`);
	},
);
// Requests that are being answered are finished
process.once("SIGTERM", () => server.close());
