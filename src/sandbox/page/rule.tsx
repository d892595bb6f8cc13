import { rules } from "../world/rules.ts";
import { Dialog } from "./dialog.tsx";
import { view } from "./store.ts";

const wordsOf = (id: string): string | undefined => new Map<string, string>(Object.entries(rules)).get(id);

/** The number of a rule, which opens its words. */
export function Rule({ id }: { readonly id: string }) {
	const open = () => {
		view.rule.value = id;
		view.dialog.value = "rule";
	};
	return (
		<button type="button" class="rule" aria-label={`Rule ${id}`} title={wordsOf(id)} onClick={open}>
			{id}
		</button>
	);
}

/** A rule by which the sandbox decides, as docs/fidelity.md has it. */
export function RuleDialog() {
	const id = view.rule.value;
	return (
		<Dialog title={`Rule ${id}`}>
			<p>{wordsOf(id) ?? "This page does not know the rule."}</p>
			<p class="dim">
				In the guide: <code>docs/fidelity.md#{id.toLowerCase()}</code>
			</p>
		</Dialog>
	);
}
