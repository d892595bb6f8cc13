import { version } from "../../package.json";
import type { Host } from "./host.ts";
import { lookOf, mostColumns, wrapped } from "./look.ts";
import {
	commonOptions,
	commonWords,
	endOf,
	isHelp,
	isVersion,
	type Option,
	type Options,
	refuseOption,
	refuseOther,
	table,
	UsageError,
} from "./options.ts";

/** A command as its completion needs it. */
export interface Completed {
	readonly summary: string;
	readonly options: Options;
	/** What it does, each with options of its own. The name of one follows the command. */
	readonly actions?: ReadonlyMap<string, Completed>;
}

/** A word that can be completed at the cursor. */
interface Candidate {
	readonly word: string;
	readonly help: string;
}

/*
 * The shells ask this command for the words that fit at the cursor, so that each version of the package completes its own
 * options. A line of the answer is a word, a tab and its help; or `:files`, where a path is to be completed.
 */

const bash = `# Completion of messaging-conversations in bash. In ~/.bashrc: source <(messaging-conversations completion bash)
_messaging_conversations() {
	local IFS=$'\\n' line found
	found=$("$1" completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	COMPREPLY=()
	if [[ $found == :files ]]; then
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$2"))
		return
	fi
	for line in $found; do COMPREPLY+=("\${line%%$'\\t'*}"); done
}
complete -F _messaging_conversations messaging-conversations`;

const zsh = `#compdef messaging-conversations
# Completion of messaging-conversations in zsh. In ~/.zshrc, after compinit: source <(messaging-conversations completion zsh)
_messaging_conversations() {
	local line help
	local -a found described
	found=("\${(@f)$("\${words[1]}" completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ $found[1] == :files ]]; then
		_files
		return
	fi
	for line in $found; do
		help=\${line#*$'\\t'}
		described+=("\${\${line%%$'\\t'*}//:/\\\\:}\${help:+:$help}")
	done
	(( $#described )) && _describe messaging-conversations described
}
if [[ $funcstack[1] == _messaging-conversations ]]; then _messaging_conversations "$@"; else compdef _messaging_conversations messaging-conversations; fi`;

const fish = `# Completion of messaging-conversations in fish: messaging-conversations completion fish | source
function __messaging_conversations
	set -l before (commandline -opc)
	set -l current (commandline -ct)
	set -l found ($before[1] completion words -- $before[2..-1] "$current" 2>/dev/null)
	if test "$found" = :files
		__fish_complete_path "$current"
	else
		printf '%s\\n' $found
	end
end
complete -c messaging-conversations -f -a '(__messaging_conversations)'`;

const scripts: Readonly<Record<string, string>> = { bash, zsh, fish };
const shells = Object.keys(scripts);

/** Shells that people have, and for which there is no script. None of them was meant to be another one. */
const otherShells = new Set("tcsh csh ksh sh dash ash nu elvish xonsh powershell pwsh cmd".split(" "));

function helpFor(columns: number): string {
	const about = "Prints a script with which the shell completes commands, options and their values.";
	const rows = [
		{ head: "  bash", help: "In ~/.bashrc: source <(messaging-conversations completion bash)" },
		{ head: "  zsh", help: "In ~/.zshrc, after compinit: source <(messaging-conversations completion zsh)" },
		{
			head: "  fish",
			help: "messaging-conversations completion fish > ~/.config/fish/completions/messaging-conversations.fish",
		},
	];
	return `${wrapped(`Usage: messaging-conversations completion ${shells.join(" | ")}`, columns).join("\n")}

${wrapped(about, columns).join("\n")}

${table(rows, columns).join("\n")}

${endOf({ example: "completion bash", page: "sandbox-server" }, columns)}`;
}

const summary = "Prints the completion script of a shell.";

/** The command `completion`, which completes the others and itself. */
export function completionOf(others: ReadonlyMap<string, Completed>) {
	const commands = new Map<string, Completed>([...others, ["completion", { summary, options: {} }]]);
	return {
		summary,
		failure: 1,
		options: {},
		async run([shell, ...words]: string[], host: Host): Promise<number> {
			const { print } = host;
			if (shell === "words") {
				for (const line of linesFor(commands, words[0] === "--" ? words.slice(1) : words)) print(line);
				return 0;
			}
			const given = shell === undefined ? [] : [shell, ...words];
			if (given.some(isHelp)) {
				print(helpFor(Math.min(lookOf(host).columns(), mostColumns)));
				return 0;
			}
			if (given.some(isVersion)) {
				print(version);
				return 0;
			}
			if (shell === undefined) throw new UsageError(`completion needs the name of a shell: ${shells.join(", ")}.`);
			if (shell.startsWith("-")) refuseOption(shell, commonOptions);
			if (otherShells.has(shell))
				throw new UsageError(`There is no completion for ${shell}. There is one for ${shells.join(", ")}.`);
			refuseOther("The shell", shell, shells);
			const option = words.find((word) => word.startsWith("-"));
			if (option !== undefined) refuseOption(option, commonOptions);
			print(scripts[shell] ?? "");
			return 0;
		},
	};
}

/** The lines for the words before the cursor, the last of which is begun or empty. */
function linesFor(commands: ReadonlyMap<string, Completed>, given: readonly string[]): string[] {
	const words = joined(given);
	const current = words.at(-1) ?? "";
	const found = candidates(commands, words);
	if (found === "files") return [":files"];
	// bash replaces what follows the last "=" alone.
	const isSplit = words.length < given.length;
	const kept = isSplit ? current.lastIndexOf("=") + 1 : 0;
	return found.filter(({ word }) => word.startsWith(current)).map(({ word, help }) => `${word.slice(kept)}\t${help}`);
}

/** bash makes three words of `--scenario=bu`. */
function joined(given: readonly string[]): string[] {
	const words: string[] = [];
	for (const [at, word] of given.entries()) {
		const last = words.at(-1);
		const belongs = at > 0 && last !== undefined && (word === "=" || given[at - 1] === "=");
		if (belongs) words[words.length - 1] = `${last}${word}`;
		else words.push(word);
	}
	return words;
}

function candidates(commands: ReadonlyMap<string, Completed>, words: readonly string[]): Candidate[] | "files" {
	const [name = "", ...args] = words;
	const current = args.at(-1);
	const named = [...commands].map(([word, { summary }]) => ({ word, help: summary }));
	if (current === undefined)
		return [
			...named,
			...commonWords.map((word) => ({ word, help: `The same as --${word}.` })),
			...optionsIn(commonOptions, []),
		];
	if (name === "help") {
		if (args.length === 1) return named;
		const { actions = [] } = commands.get(args[0] ?? "") ?? {};
		return args.length === 2 ? [...actions].map(([word, { summary }]) => ({ word, help: summary })) : [];
	}
	if (name === "completion") return shells.map((word) => ({ word, help: `The script of ${word}.` }));
	const command = commands.get(name);
	if (!command) return [];
	if (command.actions) return candidates(command.actions, args);
	const options: Options = { ...command.options, ...commonOptions };
	const [, inline] = /^--([\w-]+)=/.exec(current) ?? [];
	if (inline !== undefined) return valuesOf(options[inline], `--${inline}=`);
	const [, before] = /^--([\w-]+)$/.exec(args.at(-2) ?? "") ?? [];
	if (before !== undefined && options[before]?.type === "string") return valuesOf(options[before], "");
	return optionsIn(options, args.slice(0, -1));
}

/** The options, without those that were given and may be given only once. */
function optionsIn(options: Options, given: readonly string[]): Candidate[] {
	const isThere = (name: string): boolean =>
		given.some((word) => word === `--${name}` || word.startsWith(`--${name}=`));
	return Object.entries(options)
		.filter(([name, { multiple }]) => multiple || !isThere(name))
		.map(([name, { help }]) => ({ word: `--${name}`, help: help.split(/[:;.] |[.:;]$/)[0] ?? "" }));
}

function valuesOf(option: Option | undefined, before: string): Candidate[] | "files" {
	if (option?.isFile && before === "") return "files";
	return [...(option?.choices ?? []), ...(option?.examples ?? [])].map((word) => ({
		word: `${before}${word}`,
		help: "",
	}));
}
