import type { ComponentChildren } from "preact";
import { Refusal } from "./call-line.tsx";
import { type Around, type Call, forgetRefusal, perform, shown } from "./control.ts";
import { type Signal, signal } from "./signal.ts";
import { agencyId, here, shownBug } from "./store.ts";

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
	...rest
}: ActProps<Answer>) {
	const isOff = disabled || (shownBug.value.isReadOnly && isChange(call));
	// A button that is off makes no call, and its call may lack what it needs.
	const show = () => (shown.value = isOff ? null : call);
	const hide = () => (shown.value = null);
	return (
		<button
			{...rest}
			aria-label={label}
			aria-pressed={pressed}
			type={submit ? "submit" : "button"}
			disabled={isOff}
			onMouseEnter={show}
			onMouseLeave={hide}
			onFocus={show}
			onBlur={hide}
			onClick={submit ? undefined : () => perform(call, { text, form, onBegin, onDone })}
		>
			{children}
		</button>
	);
}

/** While a bug file is open read-only, only these calls are answered. */
const isChange = ({ verb, path }: Call): boolean => verb !== "GET" && path !== "continue" && path !== "import";

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

/** What is typed in fields and not sent, by agency and field. An empty field leaves nothing here. */
const drafts = signal<Readonly<Record<string, string>>>({});

/** The text of a field that each conversation has of its own. */
export function draftOf(field: string): Signal<string> {
	const name = `${agencyId.value} ${field}`;
	return {
		get value() {
			return drafts.value[name] ?? "";
		},
		set value(text) {
			const { [name]: _, ...others } = drafts.value;
			drafts.value = text === "" ? others : { ...others, [name]: text };
		},
	};
}

/** Takes what is typed or chosen in a field. */
export const into =
	(text: Signal<string>) =>
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
