import {
	type DynamicModule,
	Inject,
	Injectable,
	Module,
	type ModuleMetadata,
	type OnApplicationBootstrap,
	type OnModuleDestroy,
} from "@nestjs/common";
import { type Client, createClient } from "messaging-conversations";
import {
	createOutbox,
	type Outbox,
	type OutboxOptions,
} from "messaging-conversations/outbox";

/** `@Inject(CLIENT) client: Client` */
export const CLIENT = Symbol("messaging client");
/** `@Inject(OUTBOX) outbox: Outbox` */
export const OUTBOX = Symbol("messaging outbox");

/**
 * Sends what the outbox holds, from the start of the application until it shuts
 * down.
 */
@Injectable()
class OutboxWorker implements OnApplicationBootstrap, OnModuleDestroy {
	readonly #stop = new AbortController();
	readonly #outbox: Outbox;
	#working: Promise<void> | undefined;

	constructor(@Inject(OUTBOX) outbox: Outbox) {
		this.#outbox = outbox;
	}

	onApplicationBootstrap(): void {
		// Rejects only for what cannot heal, such as a missing table. Unhandled,
		// that ends the process.
		this.#working = this.#outbox.work({ signal: this.#stop.signal });
	}

	/** Finishes the requests in progress, while the database is still there. */
	async onModuleDestroy(): Promise<void> {
		this.#stop.abort();
		await this.#working;
	}
}

interface MessagingOptions extends Pick<ModuleMetadata, "imports"> {
	inject: symbol[] | (new (...given: never) => unknown)[];
	/**
	 * The store, on the database that is injected, and any other option of the
	 * outbox.
	 */
	useFactory: (database: never) => Omit<OutboxOptions, "client">;
}

@Module({})
export class MessagingModule {
	static forRoot({
		imports = [],
		inject,
		useFactory,
	}: MessagingOptions): DynamicModule {
		return {
			module: MessagingModule,
			global: true,
			imports,
			providers: [
				{
					provide: CLIENT,
					useFactory: (): Client =>
						createClient({
							baseUrl: process.env.MESSAGING_BASE_URL,
							apiKey: process.env.MESSAGING_API_KEY,
						}),
				},
				{
					provide: OUTBOX,
					inject: [CLIENT, ...inject],
					useFactory: async (
						client: Client,
						database: never,
					): Promise<Outbox> => {
						const outbox = createOutbox({ client, ...useFactory(database) });
						await outbox.migrate();
						return outbox;
					},
				},
				OutboxWorker,
			],
			exports: [CLIENT, OUTBOX],
		};
	}
}
