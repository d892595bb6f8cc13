/** Words that people search for, beside the page that answers them. The search takes them for words of its first section. */
export const keywords: Readonly<Record<string, string>> = {
	"personal-data":
		"audit, audit log, history, who sent it, who texted, GDPR, erase, erasure, delete personal data, privacy, right to be forgotten",
	connecting: "rotate, rotation, singleton, hot reload, API key",
	"errors-and-retries": "idempotency, idempotent, retry, retries, timeout, time-out",
	sending: "24 hours, 24 hours window, session window, held, queued, delivery status",
	reading: "attachment, attachments, image, images, picture, file, media, photo, pagination, page, cursor",
	testing: "mock, mocking, sandbox, stub, fake, test environment, staging, Jest, Vitest, msw, fake timers",
	"sandbox-server": "sandbox, Python, PHP, Go, Ruby, Java, curl, docker, docker compose, container",
	"sandbox-page": "bug file, time travel, breakpoint, replay",
	"many-agencies": "agencies, tenants, multi-tenant, lease, leases, partition, lag",
	mirroring: "sync, checkpoint, webhook, webhooks, websocket, push, callback, polling, events",
	"not-supported": "pricing, price, cost, billing, voice, groups",
	consent: "unsubscribe, opt out, opt-in, STOP, START, timezone, time zone, quiet hours, night",
	"not-sent": "never arrived, never got it, not sent, why, reason, status, state",
	databases:
		"Prisma, Drizzle, Knex, Kysely, TypeORM, MikroORM, Sequelize, postgres, MySQL, MariaDB, SQLite, Supabase, transaction",
	runbook:
		"stuck, duplicate text, 401, unauthorized, 403, forbidden, 429, rate limit, throttled, backup, restore, failover, standby, disaster, incident, on call",
};
