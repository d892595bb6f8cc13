/** What package.json says about the package. */
export interface Manifest {
	name: string;
	version: string;
	author?: unknown;
	homepage?: unknown;
	repository?: unknown;
	bugs?: unknown;
}

/** Where the package lives, from the fields of package.json that an owner fills in. */
export interface Owner {
	/** The repository on GitHub, without a slash at the end. */
	repository: string;
	/** Where to report a bug. */
	bugs: string;
}

const example = `	"author": "Example Ltd <sdk@example.com>",
	"homepage": "https://example.com/messaging-conversations",
	"repository": { "type": "git", "url": "git+https://github.com/example/messaging-conversations.git" },
	"bugs": { "url": "https://github.com/example/messaging-conversations/issues" },`;

/** What an owner still has to fill in, as a message for a person; undefined if nothing is missing. */
export function missingOwner({ author, homepage, repository, bugs }: Manifest): string | undefined {
	const wrong: string[] = [];
	const name = typeof author === "string" ? author : fieldOf(author, "name");
	if (!name?.trim()) wrong.push("author: the person or company that publishes the package");
	if (!isHttps(homepage)) wrong.push("homepage: the https URL of the docs site, which the help of the command names");
	if (repositoryOf(repository) === undefined)
		wrong.push('repository: { "type": "git", "url": "git+https://github.com/<owner>/<name>.git" }');
	if (!isHttps(fieldOf(bugs, "url"))) wrong.push('bugs: { "url": the https URL of the issue tracker }');
	if (wrong.length === 0) return undefined;
	return `package.json does not say who owns the package. Fill in:
${wrong.map((line) => `- ${line}`).join("\n")}

For example:

${example}
`;
}

/** The owner's links, or undefined while the repository or the tracker is not filled in. */
export function ownerOf({ repository, bugs }: Manifest): Owner | undefined {
	const [url, tracker] = [repositoryOf(repository), fieldOf(bugs, "url")];
	return url !== undefined && tracker !== undefined ? { repository: url, bugs: tracker } : undefined;
}

/** npm compares this field with the repository of the workflow that publishes, so only the full form is accepted. */
function repositoryOf(repository: unknown): string | undefined {
	return /^git\+(https:\/\/github\.com\/[\w.-]+\/[\w.-]+)\.git$/.exec(fieldOf(repository, "url") ?? "")?.[1];
}

function fieldOf(value: unknown, name: string): string | undefined {
	const field: unknown = Reflect.get(Object(value), name);
	return typeof field === "string" ? field : undefined;
}

function isHttps(value: unknown): boolean {
	return typeof value === "string" && /^https:\/\/[^/\s]+\.\S+$/.test(value);
}
