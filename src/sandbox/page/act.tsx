import type { ComponentChildren } from "preact";
import { Refusal } from "./call-line.tsx";
import { type Around, forgetRefusal, perform, type Typed } from "./control.ts";
import { agencyId, here } from "./model.ts";
import { type Call, calls, sandbox, typed, view } from "./store.ts";

interface ActProps<Answer> extends Around<Answer> {
	readonly call: Call;
	readonly children: ComponentChildren;
	readonly class?: string;
	readonly id?: string;
	readonly title?: string;
	/** Its name, when the words on it are too short to tell it from others. */
	readonly label?: string;
	readonly disabled?: boolean;
	/** Whether what it switches is on. */
	readonly pressed?: boolean;
	/** Whether its call is being made. Until that ends, it makes no other one. */
	readonly busy?: boolean;
	/** Submits its form, which makes the call. */
	readonly submit?: boolean;
}

/** A button that makes a call, and shows it before it does. */
export function Act<Answer>({
	call,
	children,
	submit = false,
	text,
	form,
	onBegin,
	onDone,
	disabled = false,
	label,
	pressed,
	busy = false,
	...rest
}: ActProps<Answer>) {
	const isOff = disabled || ((sandbox.bug.value.isReadOnly || view.at.value !== null) && isChange(call));
	// A button that is off makes no call, and its call may lack what it needs.
	const show = () => (calls.shown.value = isOff ? null : call);
	const hide = () => (calls.shown.value = null);
	return (
		<button
			{...rest}
			aria-label={label}
			aria-pressed={pressed}
			aria-busy={busy}
			type={submit ? "submit" : "button"}
			disabled={isOff}
			onMouseEnter={show}
			onMouseLeave={hide}
			onFocus={show}
			onBlur={hide}
			onClick={submit || busy ? undefined : () => perform(call, { text, form, onBegin, onDone })}
		>
			{children}
		</button>
	);
}

/** While a bug file is open read-only, or an earlier moment is shown, only other calls can be made. */
const isChange = ({ verb, path }: Call): boolean =>
	verb !== "GET" && !["import", "continue", "history/continueFrom"].includes(path);

interface FormProps<Answer> extends Omit<Around<Answer>, "form"> {
	readonly call: Call;
	readonly children: ComponentChildren;
	readonly class?: string;
	readonly label: string;
}

/** A form whose submit makes a call, and which shows what was wrong with it. */
export function ActForm<Answer>({ call, children, label, class: className, ...around }: FormProps<Answer>) {
	const submit = (event: Event) => {
		event.preventDefault();
		perform(call, { ...around, form: label });
	};
	return (
		<form class={className} aria-label={label} onSubmit={submit}>
			{children}
			<Refusal form={label} />
		</form>
	);
}

/** The text of a field that each conversation has of its own. */
export function draftOf(field: string): Typed {
	const name = `${agencyId.value} ${field}`;
	return {
		get value() {
			return typed.drafts.value[name] ?? "";
		},
		set value(text) {
			const { [name]: _, ...others } = typed.drafts.value;
			typed.drafts.value = text === "" ? others : { ...others, [name]: text };
		},
	};
}

/** Takes what is typed or chosen in a field. */
export const into =
	(text: Typed) =>
	({ currentTarget }: { readonly currentTarget: { readonly value: string } }): void => {
		text.value = currentTarget.value;
		forgetRefusal();
	};

interface TextFormProps<Answer> {
	readonly label: string;
	readonly path: string;
	/** What is typed: its lower case is the name of the field. @default "Text" */
	readonly of?: "Text" | "Name";
	/** The other fields of the call. */
	readonly more?: object;
	/** The value that it replaces. */
	readonly now?: string | null;
	readonly disabled?: boolean;
	readonly onDone?: (answer: Answer) => void;
}

/** A control call with one text. */
export function TextForm<Answer>({
	label,
	path,
	of = "Text",
	more,
	now,
	disabled = false,
	onDone,
}: TextFormProps<Answer>) {
	const text = draftOf(path + JSON.stringify(more));
	const call = here(path, { ...more, [of.toLowerCase()]: text.value });
	return (
		<ActForm class="row text" label={label} call={call} text={text} onDone={onDone}>
			<input aria-label={`${of}: ${label}`} placeholder={now ?? of} required value={text.value} onInput={into(text)} />
			<Act submit call={call} disabled={disabled}>
				{label}
			</Act>
		</ActForm>
	);
}
