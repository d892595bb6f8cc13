import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const reports = fileURLToPath(new URL("../../test/api/", import.meta.url));

/** Arguments for the types that need some, by their parameters. */
const argumentsOf: Readonly<Record<string, string>> = {
	"Answered<Data>": "<string>",
	"Call<Data, Failure extends PartnerError>": "<string, main.PartnerError>",
	"OperationError<Operation extends OperationId>": '<"messages.send">',
	"Paginated<Item, Page, Failure extends PartnerError>": "<string, string[], main.PartnerError>",
	"PhoneInputs<Input extends PhoneInput>": "<string>",
	"Result<Data, Failure extends PartnerError>": "<string, main.PartnerError>",
};

/**
 * A library that exports something of everything that an entry of the package exports: each function, and the members of each type,
 * without a type of its own. Its declarations have to name whatever they are made of.
 */
export function libraryOf({ withMsw }: { withMsw: boolean }): string {
	const entries = readdirSync(reports).filter(
		(file) => file !== "package.api.md" && (withMsw || file !== "sandbox-msw.api.md"),
	);
	const parts = entries.map((file, index) => {
		const text = readFileSync(`${reports}${file}`, "utf8");
		const entry = /^# (\S+)$/m.exec(text)?.[1]?.replace(/\/?index$/, "") ?? "";
		const declared = new Map(
			[...text.matchAll(/^(?:interface|type) ((\w+)<[^=>]*>)/gm)].map(([, whole = "", name = ""]) => [name, whole]),
		);
		const names = [...text.matchAll(/^- `(\w+)` (type|value)$/gm)].map(([, name = "", kind]) =>
			kind === "value"
				? `export const ${name}_${index} = from${index}.${name};`
				: `export const ${name}_${index} = (value: from${index}.${name}${argumentsOf[declared.get(name) ?? ""] ?? ""}) => ({ value, members: membersOf(value) });`,
		);
		const path = ["messaging-conversations", entry].filter(Boolean).join("/");
		return [`import * as from${index} from "${path}";`, ...names].join("\n");
	});
	return `import type * as main from "messaging-conversations";
type Members<Whole> = Whole extends string ? Whole : { [Name in keyof Whole]: Whole[Name] };
declare function membersOf<Whole>(whole: Whole): Members<Whole>;
${parts.join("\n")}
`;
}
