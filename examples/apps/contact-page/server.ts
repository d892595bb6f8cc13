import { openAgency } from "../agency.ts";
import { createApp } from "./express.ts";

const { agency, sandbox } = await openAgency();
const port = Number(process.env.PORT ?? 3000);
createApp(agency).listen(port, "127.0.0.1", () => {
	console.log(`http://127.0.0.1:${port}/contacts/${sandbox ? "%2B447700900101" : "a number, its + as %2B"}`);
});
