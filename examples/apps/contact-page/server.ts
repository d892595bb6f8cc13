// `npm run contact-page`: prints the address of a contact's page.
import { openAgency } from "../agency.ts";
import { createApp } from "./express.ts";

const { agency, sandbox } = await openAgency();
const server = createApp(agency).listen(Number(process.env.PORT ?? 3000), "127.0.0.1", (error) => {
	if (error) throw error; // Express 5 passes it here: the port is taken
	const address = server.address();
	const port = typeof address === "object" ? address?.port : address;
	console.log(`http://127.0.0.1:${port}/contacts/${sandbox ? "%2B447700900101" : "{number, its + as %2B}"}`);
});
