import {
	type ArgumentsHost,
	Catch,
	type ExceptionFilter,
} from "@nestjs/common";
import type { HttpAdapterHost } from "@nestjs/core";
import { PartnerError } from "messaging-conversations";
import { answerTo } from "../web/answers";

/** Without it Nest answers each error of the client with a 500. */
@Catch(PartnerError)
export class PartnerErrorFilter implements ExceptionFilter {
	readonly #host: HttpAdapterHost;

	constructor(host: HttpAdapterHost) {
		this.#host = host;
	}

	catch(error: PartnerError, host: ArgumentsHost): void {
		const answer = answerTo(error);
		if (!answer) throw error;
		const { httpAdapter } = this.#host;
		const response = host.switchToHttp().getResponse();
		for (const [name, value] of Object.entries(answer.headers))
			httpAdapter.setHeader(response, name, value);
		httpAdapter.reply(response, answer.body, answer.status);
	}
}
