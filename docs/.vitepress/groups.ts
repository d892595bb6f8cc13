/** The pages in the order of the sidebar. Each page of this folder is in one group. A page may be named before it exists. */
export const groups: Readonly<Record<string, readonly string[]>> = {
	Start: ["first-send", "which-part", "crm"],
	Client: ["sending", "reading", "errors-and-retries", "phone-numbers", "connecting"],
	Outbox: ["durable-sends", "stories", "consent", "not-sent", "databases", "move-your-queue"],
	"Change feed": ["mirroring", "many-agencies", "mirroring-limits"],
	Test: ["testing", "sandbox-page", "sandbox-server"],
	Operate: ["going-live", "runbook", "command-line", "observability", "personal-data"],
	Frameworks: ["frameworks"],
	Reference: [
		"options",
		"errors",
		"faults",
		"limits",
		"sandbox-routes",
		"fidelity",
		"not-supported",
		"glossary",
		"reference/security",
		"reference/changelog",
	],
};

/** Pages that the navigation bar leads to, and not the sidebar. */
export const outsideSidebar: ReadonlySet<string> = new Set(["index", "playground"]);

/** Pages to look things up in, rather than to read through. All others are guides. */
export const references: ReadonlySet<string> = new Set([
	...(groups.Reference ?? []),
	"not-sent",
	"databases",
	"command-line",
	"phone-numbers",
	"mirroring-limits",
]);
