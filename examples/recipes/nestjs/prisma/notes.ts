import type { OnApplicationShutdown } from "@nestjs/common";
import {
	Body,
	Controller,
	Get,
	Inject,
	Injectable,
	Module,
	NotFoundException,
	Param,
	Post,
} from "@nestjs/common";
import { PrismaPg } from "@prisma/adapter-pg";
import {
	type Outbox,
	type OutboxStatus,
	postgresStore,
} from "messaging-conversations/outbox";
import { MessagingModule, OUTBOX } from "../messaging.module";
import { PrismaClient } from "./generated/client";

interface Note {
	/** Made by the form, so that a double click is one note and one text. */
	id: string;
	agencyId: string;
	to: string;
	body: string;
	/** Don't send it after this time: ISO 8601 with a UTC offset. */
	visitAt: string;
}

@Injectable()
class PrismaService extends PrismaClient implements OnApplicationShutdown {
	constructor() {
		super({
			adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }),
		});
	}

	onApplicationShutdown(): Promise<void> {
		return this.$disconnect();
	}
}

@Controller("notes")
class NotesController {
	readonly #prisma: PrismaService;
	readonly #outbox: Outbox;

	constructor(
		@Inject(PrismaService) prisma: PrismaService,
		@Inject(OUTBOX) outbox: Outbox,
	) {
		this.#prisma = prisma;
		this.#outbox = outbox;
	}

	@Post()
	create(
		@Body() { id, agencyId, to, body, visitAt }: Note,
	): Promise<OutboxStatus> {
		return this.#prisma.$transaction(async (tx) => {
			const text = await this.#outbox.enqueue(
				{ id, agencyId, to, body, notAfter: visitAt },
				{ tx },
			);
			await tx.note.upsert({ where: { id }, create: { id, body }, update: {} });
			return text;
		});
	}

	@Get(":id")
	async read(@Param("id") id: string): Promise<OutboxStatus> {
		const text = await this.#outbox.status(id);
		if (!text) throw new NotFoundException();
		return text;
	}
}

@Module({ providers: [PrismaService], exports: [PrismaService] })
class PrismaModule {}

@Module({
	imports: [
		PrismaModule,
		MessagingModule.forRoot({
			imports: [PrismaModule],
			inject: [PrismaService],
			useFactory: (prisma: PrismaService) => ({ store: postgresStore(prisma) }),
		}),
	],
	controllers: [NotesController],
})
export class AppModule {}
