import type { ComponentChildren, TargetedEvent } from "preact";
import { CallLine } from "./call-line.tsx";
import { forgetRefusal } from "./control.ts";
import { calls, view } from "./store.ts";

/** A dialog begins without what came of an earlier call, and leaves no refusal behind. */
function open(element: HTMLDialogElement | null): void {
	if (element) calls.made.value = null;
	else forgetRefusal();
	element?.showModal();
}

export const close = () => document.querySelector("dialog")?.close();

/** The event comes a little later, when another dialog may have taken the place. */
function onClose({ currentTarget }: TargetedEvent<HTMLDialogElement>): void {
	if (currentTarget.isConnected) view.dialog.value = null;
}

/** A modal dialog; the browser keeps the focus in it and gives it back. */
export function Dialog({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
	return (
		<dialog ref={open} aria-labelledby="dialog-title" onClose={onClose}>
			<header class="row">
				<h2 id="dialog-title">{title}</h2>
				<span class="spring" />
				<button type="button" class="quiet" onClick={close}>
					Close
				</button>
			</header>
			<div class="content">{children}</div>
			<CallLine />
		</dialog>
	);
}
