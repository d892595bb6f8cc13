import {
	Body,
	Controller,
	Get,
	Inject,
	Injectable,
	Module,
	NotFoundException,
	type OnApplicationShutdown,
	Param,
	Post,
} from "@nestjs/common";
import {
	type Outbox,
	type OutboxStatus,
	postgresStore,
} from "messaging-conversations/outbox";
import pg from "pg";
import { MessagingModule, OUTBOX } from "./messaging.module";

export interface Note {
	/** Made by the form, so that a double click is one note and one text. */
	id: string;
	agencyId: string;
	to: string;
	body: string;
	/** Don't send it after this time: ISO 8601 with a UTC offset. */
	visitAt: string;
}

@Injectable()
export class Database implements OnApplicationShutdown {
	readonly pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });

	constructor() {
		// The pool replaces a connection that breaks. Without a listener the error
		// would end the process.
		this.pool.on("error", ({ message }) => console.error(message));
	}

	/**
	 * Later than `onModuleDestroy`, in which the outbox finishes its requests.
	 */
	onApplicationShutdown(): Promise<void> {
		return this.pool.end();
	}
}

@Controller("notes")
class NotesController {
	readonly #pool: pg.Pool;
	readonly #outbox: Outbox;

	constructor(
		@Inject(Database) database: Database,
		@Inject(OUTBOX) outbox: Outbox,
	) {
		this.#pool = database.pool;
		this.#outbox = outbox;
	}

	/** Stores the note and its text together, or neither. */
	@Post()
	async create(
		@Body() { id, agencyId, to, body, visitAt }: Note,
	): Promise<OutboxStatus> {
		const tx = await this.#pool.connect();
		try {
			await tx.query("begin");
			const text = await this.#outbox.enqueue(
				{ id, agencyId, to, body, notAfter: visitAt },
				{ tx },
			);
			await tx.query(
				"insert into note (id, body) values ($1, $2) on conflict do nothing",
				[id, body],
			);
			await tx.query("commit");
			return text;
		} catch (error) {
			// A broken connection has rolled back
			await tx.query("rollback").catch(() => {});
			throw error;
		} finally {
			tx.release();
		}
	}

	@Get(":id")
	async read(@Param("id") id: string): Promise<OutboxStatus> {
		const text = await this.#outbox.status(id);
		if (!text) throw new NotFoundException();
		return text;
	}
}

@Module({ providers: [Database], exports: [Database] })
class DatabaseModule {}

@Module({
	imports: [
		DatabaseModule,
		MessagingModule.forRoot({
			imports: [DatabaseModule],
			inject: [Database],
			useFactory: ({ pool }: Database) => ({ store: postgresStore(pool) }),
		}),
	],
	controllers: [NotesController],
})
export class AppModule {}
