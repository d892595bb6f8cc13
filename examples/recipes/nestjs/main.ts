import "reflect-metadata";
import { HttpAdapterHost, NestFactory } from "@nestjs/core";
import { AppModule } from "./notes";
import { PartnerErrorFilter } from "./partner.filter";

async function start(): Promise<void> {
	const app = await NestFactory.create(AppModule);
	app.useGlobalFilters(new PartnerErrorFilter(app.get(HttpAdapterHost)));
	// Without it SIGTERM ends the process in the middle of a send
	app.enableShutdownHooks();
	await app.listen(process.env.PORT ?? 3000);
	console.log(`listening on ${await app.getUrl()}`);
}

void start();
