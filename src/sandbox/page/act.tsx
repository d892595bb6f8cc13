import type { ComponentChildren } from "preact";
import { Refusal } from "./call-line.tsx";
import { type Around, type Call, forgetRefusal, perform, shown } from "./control.ts";
import { type Signal, signal } from "./signal.ts";
import { agencyId } from "./store.ts";

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
	onDone,
	onRefused,
	disabled = false,
	label,
	pressed,
	...rest
}: ActProps<Answer>) {
	const show = () => (shown.value = call);
	const hide = () => (shown.value = null);
	return (
		<button
			{...rest}
			aria-label={label}
			aria-pressed={pressed}
			type={submit ? "submit" : "button"}
			disabled={disabled}
			onMouseEnter={show}
			onMouseLeave={hide}
			onFocus={show}
			onBlur={hide}
			onClick={submit ? undefined : () => perform(call, { text, form, onDone, onRefused })}
		>
			{children}
		</button>
	);
}

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

const drafts: Record<string, Signal<string>> = {};

/** The text of a field that each conversation has of its own. */
export const draftOf = (field: string): Signal<string> => (drafts[`${agencyId.value} ${field}`] ??= signal(""));

/** Takes what is typed or chosen in a field. */
export const into =
	(text: Signal<string>) =>
	({ currentTarget }: { readonly currentTarget: { readonly value: string } }): void => {
		text.value = currentTarget.value;
		forgetRefusal();
	};
