import { hourMs } from "../world/instant.ts";
import { agencyById, type World } from "../world/world.ts";
import type { AgencyControl } from "./agency.ts";
import type { ContactRef } from "./contact.ts";
import type { IntegrationControl } from "./integration.ts";

/** The default agency that a scenario fills, and functions that act in its past. */
export interface Stage {
	readonly integration: IntegrationControl;
	readonly agency: AgencyControl;
	/** Does `act` as if it were so many hours ago. Nothing falls due meanwhile. */
	ago(hours: number, act: () => void): void;
	/** Does `act` with a consent flow that works and gives more than so many hours; then restores the agency's own. */
	consenting(hours: number, act: () => void): void;
}

export function createStage(world: World, integration: IntegrationControl, agency: AgencyControl): Stage {
	return {
		integration,
		agency,
		ago(hours, act) {
			const { now } = world;
			world.now = now - hours * hourMs;
			try {
				act();
			} finally {
				world.now = now;
			}
		},
		consenting(hours, act) {
			const agencyNow = agencyById(world, agency.id);
			const { consent } = agencyNow;
			const { languages, answerWithinHours } = consent;
			agencyNow.consent = {
				...consent,
				configured: true,
				languages: languages.length > 0 ? languages : ["en"],
				missingFlowCodes: [],
				missingTemplates: [],
				unapprovedTemplates: [],
				answerWithinHours: answerWithinHours > hours ? answerWithinHours : hours + 48,
			};
			try {
				act();
			} finally {
				agencyNow.consent = consent;
			}
		},
	};
}

/** The names of all scenarios, for a test that goes through each. {@link ScenarioName} says what they are. */
export const scenarioNames = [
	"fresh",
	"busy",
	"closed",
	"held",
	"ineligible",
	"twoLanguages",
	"unlinked",
	"readOnlyKey",
	"oddData",
] as const;

/**
 * A world that a sandbox can begin with (`createSandbox({ scenario })`), or that is added to one later
 * (`sandbox.loadScenario()`):
 * - `fresh`: one agency, one key, no conversation.
 * - `busy`: 250 conversations, three pages of 100. The first contact's has 130 messages, three pages of 50.
 * - `closed`: one contact, who wrote 30 hours ago.
 * - `held`: the same, and a text that waits since an hour ago.
 * - `ineligible`: as `closed`, at an agency whose consent template awaits approval.
 * - `twoLanguages`: as `closed`, at an agency with two consent languages.
 * - `unlinked`: one conversation that no agency owns.
 * - `readOnlyKey`: the default key may read only.
 * - `oddData`: oddities of real data that examples lack: null names, files alone, older records.
 */
export type ScenarioName = (typeof scenarioNames)[number];

/** A number of Ofcom's drama range, +447700900000 to …999, which is never assigned. */
const dramaNumber = (i: number): string => `+447700900${String(i).padStart(3, "0")}`;
const anna = dramaNumber(101);

const names = ["Anna", "Bram", "Chloé", "Dirk", "Elif", "Finn", "Greet", "Hugo", "Inès", "Jan"];
const families = ["Peeters", "Janssens", "Maes", "Jacobs", "Mertens", "Willems", "Claes", "Goossens", "Wouters"];

/** The AI replies. It is turned on first, because a scenario can be added at any time. */
function aiReplies({ staff, ai }: AgencyControl, contact: ContactRef, text: string): void {
	staff.setAi({ contact, on: true });
	ai.replies({ contact, text });
}

const scenarios: Readonly<Record<ScenarioName, (stage: Stage) => void>> = {
	fresh() {},
	/** 250 conversations, three pages of 100; the first contact's has 130 messages, three pages of 50. */
	busy({ agency, ago }) {
		for (let i = 249; i > 0; i--) {
			const name = `${names[i % names.length]} ${families[i % families.length]}`;
			const contact = agency.contact(dramaNumber(101 + i), { name });
			ago(i * 0.75 + 0.5, () => contact.writes(`Hello, is number ${i} still for sale?`));
			if (i % 3 > 0) ago(i * 0.75 + 0.25, () => aiReplies(agency, contact, "It is. Shall we plan a visit?"));
			if (i % 5 === 0) ago(i * 0.75, () => agency.startFlow(contact).set(i % 10 === 0 ? "completed" : "waiting"));
		}
		const contact = agency.contact(anna, { name: "Anna Peeters" });
		for (let i = 130; i > 0; i--) {
			ago(i / 10, () => (i % 2 === 0 ? contact.writes(`Question ${i}`) : aiReplies(agency, contact, `Answer ${i}`)));
		}
	},
	/** One contact who wrote 30 hours ago. */
	closed({ agency, ago }) {
		ago(30, () => agency.contact(anna, { name: "Anna" }).writes("Is the flat still free?"));
	},
	/** The same, and a text that waits since an hour ago. */
	held(stage) {
		scenarios.closed(stage);
		stage.consenting(1, () => {
			stage.ago(1, () => stage.agency.staff.sends({ contact: anna, text: "It is. Shall we plan a visit?" }));
		});
	},
	/** The same as closed, at an agency whose consent template awaits approval. */
	ineligible(stage) {
		scenarios.closed(stage);
		stage.agency.consent.set({ unapprovedTemplates: [{ templateCode: "window_reopen_consent", status: "pending" }] });
	},
	/** The same as closed, at an agency with two consent languages. */
	twoLanguages(stage) {
		scenarios.closed(stage);
		stage.agency.consent.set({ languages: ["nl", "fr"], defaultLanguage: "nl" });
	},
	/** One conversation that no agency owns. */
	unlinked({ agency, ago }) {
		ago(1, () => agency.contact(anna, { name: "Anna" }).writes("Hello?"));
		agency.conversation(anna).visibleAs("unlinked");
	},
	/** The default key may read only. */
	readOnlyKey({ integration, agency, ago }) {
		ago(1, () => agency.contact(anna, { name: "Anna" }).writes("Is the flat still free?"));
		integration.keys.setScopes(integration.apiKey, ["conversations:read"]);
	},
	/** Oddities of real data that examples lack. */
	oddData({ integration, agency, ago }) {
		integration.link({ name: null });
		const nameless = agency.contact(anna);
		ago(9, () => nameless.writes("👩🏽‍💻 Größe? ﷽ עברית"));
		ago(8, () => nameless.writes({ media: [{ url: "https://files.invalid/old.jpg", content_type: "image/jpeg" }] }));
		const replyTo = { body: null, direction: null, createdAt: null, templateName: null, hasMedia: null };
		ago(7, () => nameless.writes({ body: "About that one", replyTo }));
		const unicode = agency.contact(dramaNumber(102), { name: "Žofie O’Brien-Ünal 李" });
		ago(6, () =>
			unicode.writes({
				body: "Two files",
				media: [
					{ url: "https://files.invalid/1.pdf", index: 0, contentType: "application/pdf" },
					{ url: "https://files.invalid/2" },
				],
			}),
		);
		ago(5, () => aiReplies(agency, unicode, "x".repeat(5000)));
		ago(4, () => agency.startFlow(unicode).timeout());
		agency.conversation(dramaNumber(103)).open();
		agency.conversation(unicode).visibleAs("tagged");
	},
};

/** Plays a scenario; an unknown one throws. */
export function play(scenario: ScenarioName, stage: Stage): void {
	assertScenario(scenario);
	scenarios[scenario](stage);
}

export function assertScenario(scenario: ScenarioName): void {
	if (!scenarioNames.includes(scenario))
		throw new TypeError(`There is no scenario ${JSON.stringify(scenario)}; there are ${scenarioNames.join(", ")}.`);
}
