import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const docs = fileURLToPath(new URL("..", import.meta.url));

/** The pages in the order of the sidebar. Each page of this folder is in one group. A page may be named before it exists. */
export const groups: Readonly<Record<string, readonly string[]>> = {
	Start: ["first-send", "which-part", "crm", "why-not-fetch", "playground"],
	Read: ["reading"],
	Send: ["window-and-queue", "reliability", "sent-delivered-failed"],
	"Send durably": [
		"durable-sends",
		"purposes",
		"visits-and-campaigns",
		"opt-out",
		"carry-opt-outs",
		"outbox-workers",
		"outbox-databases",
		"outbox-states",
		"outbox-limits",
	],
	Mirror: ["mirroring", "many-agencies", "agency-leases", "scale", "erasing", "mirroring-limits"],
	Test: ["testing", "sandbox-page", "sandbox-log", "sandbox-outbox", "sandbox-server", "sandbox-routes", "fidelity"],
	Operate: [
		"going-live",
		"troubleshooting",
		"runbook",
		"outbox-health",
		"outbox-command",
		"observability",
		"doctor",
		"tail",
		"key-rotation",
		"performance",
	],
	Recipes: [...pagesIn("recipes"), "nextjs"],
	Reference: [
		"limits",
		"options",
		"phone-numbers",
		"outbox-options",
		"errors",
		"faults",
		"not-supported",
		"glossary",
		"reference/changelog",
	],
};

/** Pages that show whole programs, which other tests run: see scripts/generate/recipes.ts. */
export const programs: ReadonlySet<string> = new Set(["crm", ...(groups.Recipes ?? [])]);

/** Pages to look things up in, rather than to read through. All others are guides. */
export const references: ReadonlySet<string> = new Set([
	...(groups.Reference ?? []),
	"doctor",
	"fidelity",
	"mirroring-limits",
	"outbox-databases",
	"outbox-limits",
	"outbox-states",
	"sandbox-routes",
]);

function pagesIn(folder: string): string[] {
	if (!existsSync(`${docs}${folder}`)) return [];
	const files = readdirSync(`${docs}${folder}`).filter((file) => file.endsWith(".md"));
	// The overview first.
	const sorted = files.sort((one, other) => Number(other === "index.md") - Number(one === "index.md"));
	return sorted.map((file) => `${folder}/${file.slice(0, -3)}`);
}
