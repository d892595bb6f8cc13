import { Act, ActForm, draftOf, into } from "./act.tsx";
import { here } from "./model.ts";

const media = [{ url: "https://files.invalid/photo.jpg", contentType: "image/jpeg" }];

/** Writes as the contact. */
export function Composer({ phone, name }: { readonly phone: string; readonly name: string }) {
	const draft = draftOf(phone);
	const text = draft.value.trim();
	const path = `contacts/${phone}/writes`;
	const write = here(path, { text });
	const label = `Write as ${name}`;
	return (
		<ActForm class="write" label={label} call={write} text={draft}>
			<input
				id="write"
				autocomplete="off"
				aria-label={`Message from ${name}`}
				placeholder={label}
				value={draft.value}
				onInput={into(draft)}
			/>
			<Act call={here(path, text === "" ? { media } : { body: text, media })} text={draft} form={label}>
				+ file
			</Act>
			<Act submit class="primary" call={write} disabled={text === ""} label={`Send as ${name}`}>
				Send
			</Act>
		</ActForm>
	);
}
