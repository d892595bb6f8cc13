// A Redis server for tests: one of its own, with nothing stored. It can be stopped and started again on its port.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../postgres.ts";

export interface RedisServer {
	port: number;
	/** Forgets everything. */
	flush: () => Promise<void>;
	/** Changes a setting until it is started again. */
	set: (name: string, value: string) => Promise<void>;
	/** Stops it, and loses what it holds. */
	stop: () => Promise<void>;
	/** Starts it, empty, on the same port. */
	start: () => Promise<void>;
	close: () => Promise<void>;
}

export async function startRedis(): Promise<RedisServer> {
	const folder = mkdtempSync(join(tmpdir(), "redis-"));
	const port = await freePort();
	let server: ReturnType<typeof spawn> | undefined;

	async function start(): Promise<void> {
		const settings = ["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--maxmemory-policy", "noeviction"];
		const started = spawn("redis-server", settings, { cwd: folder, stdio: "ignore" });
		server = started;
		while ((await command(port, "PING").catch(() => "")) !== "+PONG") {
			if (started.exitCode !== null) throw new Error(`Redis ended with ${started.exitCode}.`);
			await new Promise((resolve) => setTimeout(resolve, 30));
		}
	}
	async function stop(): Promise<void> {
		if (!server || server.exitCode !== null || server.signalCode !== null) return;
		const ended = once(server, "exit");
		server.kill("SIGKILL");
		await ended;
	}
	await start();
	return {
		port,
		flush: async () => void (await command(port, "FLUSHALL")),
		set: async (name, value) => void (await command(port, `CONFIG SET ${name} ${value}`)),
		start,
		stop,
		async close() {
			await stop();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

/** The first line of the answer to one command. */
async function command(port: number, text: string): Promise<string> {
	const socket = connect(port, "127.0.0.1");
	try {
		await once(socket, "connect");
		socket.write(`${text}\r\n`);
		const [answer] = await once(socket, "data");
		return String(answer).split("\r\n")[0] ?? "";
	} finally {
		socket.destroy();
	}
}
