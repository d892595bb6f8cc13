import { Act, ActForm, textOf } from "./act.tsx";
import { signal } from "./signal.ts";
import { here } from "./store.ts";

const draft = signal("");
const media = [{ url: "https://files.invalid/photo.jpg", contentType: "image/jpeg" }];

const clear = () => (draft.value = "");

/** Writes as the contact. */
export function Composer({ phone, name }: { readonly phone: string; readonly name: string }) {
	const text = draft.value.trim();
	const path = `contacts/${phone}/writes`;
	const write = here(path, { text });
	return (
		<ActForm class="write" label={`Write as ${name}`} call={write} onDone={clear}>
			<input
				id="write"
				autocomplete="off"
				aria-label={`Message from ${name}`}
				placeholder={`Write as ${name}  r`}
				value={draft.value}
				onInput={(event) => (draft.value = textOf(event))}
			/>
			<Act call={here(path, text === "" ? { media } : { body: text, media })} onDone={clear}>
				+ file
			</Act>
			<Act submit class="primary" call={write} disabled={text === ""}>
				Send as {name}
			</Act>
		</ActForm>
	);
}
