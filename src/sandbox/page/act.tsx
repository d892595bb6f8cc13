import type { ComponentChildren } from "preact";
import { type Around, type Call, perform, shown } from "./control.ts";
import { type Signal, signal } from "./signal.ts";
import { agencyId } from "./store.ts";

interface ActProps<Answer> extends Around<Answer> {
	readonly call: Call;
	readonly children: ComponentChildren;
	readonly class?: string;
	readonly id?: string;
	readonly disabled?: boolean;
	/** Submits its form, which makes the call. */
	readonly submit?: boolean;
}

/** A button that makes a control call, and shows it before it does. */
export function Act<Answer>({
	call,
	children,
	submit = false,
	text,
	onDone,
	disabled = false,
	...rest
}: ActProps<Answer>) {
	const show = () => (shown.value = call);
	const hide = () => (shown.value = null);
	return (
		<button
			{...rest}
			type={submit ? "submit" : "button"}
			disabled={disabled}
			onMouseEnter={show}
			onMouseLeave={hide}
			onFocus={show}
			onBlur={hide}
			onClick={submit ? undefined : () => perform(call, { text, onDone })}
		>
			{children}
		</button>
	);
}

interface FormProps extends Pick<Around<unknown>, "text"> {
	readonly call: Call;
	readonly children: ComponentChildren;
	readonly class?: string;
	readonly label?: string;
}

/** A form whose submit makes a control call. */
export function ActForm({ call, children, label, text, ...rest }: FormProps) {
	const submit = (event: Event) => {
		event.preventDefault();
		perform(call, { text });
	};
	return (
		<form {...rest} aria-label={label} onSubmit={submit}>
			{children}
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
	};
