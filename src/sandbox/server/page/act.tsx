import type { ComponentChildren } from "preact";
import { type Call, callLine, perform, shown } from "./control.ts";

interface ActProps {
	readonly call: Call;
	readonly children: ComponentChildren;
	readonly class?: string;
	readonly id?: string;
	readonly disabled?: boolean;
	/** Submits its form, which makes the call. */
	readonly submit?: boolean;
	readonly onDone?: (answer: unknown) => void;
}

/** A button that makes a control call, and shows it before it does. */
export function Act({ call, children, submit = false, onDone, disabled = false, ...rest }: ActProps) {
	const show = () => (shown.value = call);
	const hide = () => (shown.value = null);
	const act = async () => {
		const answer = await perform(call);
		if (answer !== undefined) onDone?.(answer);
	};
	return (
		<button
			{...rest}
			type={submit ? "submit" : "button"}
			title={callLine(call)}
			disabled={disabled}
			onMouseEnter={show}
			onMouseLeave={hide}
			onFocus={show}
			onBlur={hide}
			onClick={submit ? undefined : act}
		>
			{children}
		</button>
	);
}

interface FormProps {
	readonly call: Call;
	readonly children: ComponentChildren;
	readonly class?: string;
	readonly label?: string;
	readonly onDone?: (answer: unknown) => void;
}

/** A form whose submit makes a control call. */
export function ActForm({ call, children, label, onDone, ...rest }: FormProps) {
	const submit = async (event: Event) => {
		event.preventDefault();
		const answer = await perform(call);
		if (answer !== undefined) onDone?.(answer);
	};
	return (
		<form {...rest} aria-label={label} onSubmit={submit}>
			{children}
		</form>
	);
}

/** The text of an input when it changes. */
export const textOf = (event: Event): string => {
	const { target } = event;
	return target instanceof HTMLInputElement || target instanceof HTMLSelectElement ? target.value : "";
};
