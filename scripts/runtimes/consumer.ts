import { spawn } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { child } from "./child.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));

/** The runtimes and tools of this folder. */
export const tools = join(here, "node_modules");

/** Packs the `dist` that is there. */
export async function packAsBuilt(work: string): Promise<string> {
	return packFrom(root, work);
}

/** Builds and packs a copy, so that the working tree keeps the `dist` that it has. */
export async function buildAndPack(work: string): Promise<string> {
	const copy = join(work, "copy");
	mkdirSync(copy);
	const filter = (path: string): boolean => basename(path) !== "node_modules";
	for (const name of readdirSync(root)) {
		if (![".git", "dist", "test"].includes(name))
			cpSync(join(root, name), join(copy, name), { recursive: true, filter });
	}
	symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
	const built = await child("npm", ["run", "build"], { cwd: copy, timeoutMs: 300_000 });
	if (!built.ok) throw new Error(built.output);
	const tarball = await packFrom(copy, work);
	rmSync(copy, { recursive: true });
	return tarball;
}

async function packFrom(folder: string, work: string): Promise<string> {
	const packed = await child("npm", ["pack", "--ignore-scripts", "--pack-destination", work], { cwd: folder });
	const tarball = readdirSync(work).find((name) => name.endsWith(".tgz"));
	if (!packed.ok || tarball === undefined) throw new Error(packed.output);
	return join(work, tarball);
}

/** The programs of a consumer; each is there as an ES module and as a CommonJS one, with its imports as they are. */
const programs = ["main", "entry-points", "msw", "worker", "stores", "cut"] as const;

/** A project that has the tarball installed, and a link to each of `packages` from here. */
export async function createConsumer(work: string, tarball: string, packages: readonly string[]): Promise<string> {
	const folder = join(work, "consumer");
	cpSync(join(here, "consumer"), folder, { recursive: true });
	writeFileSync(join(folder, "package.json"), '{ "name": "consumer", "private": true, "type": "module" }\n');
	const options = ["--offline", "--ignore-scripts", "--no-audit", "--no-fund"];
	const installed = await child("npm", ["install", ...options, tarball], { cwd: folder });
	if (!installed.ok) throw new Error(installed.output);
	for (const name of packages) {
		mkdirSync(join(folder, "node_modules", name, ".."), { recursive: true });
		symlinkSync(join(tools, name), join(folder, "node_modules", name));
	}
	for (const [format, ending] of [["esm", ".mjs"] as const, ["cjs", ".cjs"] as const]) {
		await build({
			entryPoints: programs.map((program) => join(folder, `${program}.ts`)),
			outdir: folder,
			outExtension: { ".js": ending },
			bundle: true,
			packages: "external",
			format,
			target: "es2022",
			logLevel: "error",
		});
	}
	return folder;
}

/** A sandbox that the packed command serves. */
export interface Service {
	baseUrl: string;
	apiKey: string;
	controlUrl: string;
	token: string;
	close: () => void;
}

/** Runs `messaging-conversations sandbox` as a user would, and reads what it prints. */
export async function startService(consumer: string): Promise<Service> {
	const command = join(consumer, "node_modules/.bin/messaging-conversations");
	const server = spawn(command, ["sandbox", "--port", "0", "--scenario", "busy"], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	const said = new Map<string, string>();
	for await (const line of createInterface({ input: server.stdout })) {
		const [, name, value] = /^ {2}(\S.*?) {2,}(\S+)$/.exec(line) ?? [];
		if (name !== undefined && value !== undefined) said.set(name, value);
		if (said.has("Control token")) break;
	}
	server.stdout.resume();
	const reported = (name: string): string => {
		const value = said.get(name);
		if (value === undefined) throw new Error(`messaging-conversations sandbox does not tell its ${name}`);
		return value;
	};
	return {
		baseUrl: reported("Base URL"),
		apiKey: reported("API key"),
		controlUrl: reported("Control URL"),
		token: reported("Control token"),
		close: () => server.kill(),
	};
}
