import { Act, ActForm, draftOf, into } from "./act.tsx";
import { here } from "./store.ts";

const media = [{ url: "https://files.invalid/photo.jpg", contentType: "image/jpeg" }];

/** Writes as the contact. */
export function Composer({ phone, name }: { readonly phone: string; readonly name: string }) {
	const draft = draftOf(phone);
	const text = draft.value.trim();
	const path = `contacts/${phone}/writes`;
	const write = here(path, { text });
	return (
		<ActForm class="write" label={`Write as ${name}`} call={write} text={draft}>
			<input
				id="write"
				autocomplete="off"
				aria-label={`Message from ${name}`}
				placeholder={`Write as ${name}  r`}
				value={draft.value}
				onInput={into(draft)}
			/>
			<Act call={here(path, text === "" ? { media } : { body: text, media })} text={draft}>
				+ file
			</Act>
			<Act submit class="primary" call={write} disabled={text === ""}>
				Send as {name}
			</Act>
		</ActForm>
	);
}
