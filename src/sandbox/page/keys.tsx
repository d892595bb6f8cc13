import { isSaying } from "./announce.ts";
import { Dialog } from "./dialog.tsx";
import { areKeysOn, keys } from "./keyboard.ts";

export function KeysDialog() {
	return (
		<Dialog title="Keys">
			<ul class="plain">
				{keys.map(({ key, does }) => (
					<li key={key}>
						<kbd>{key}</kbd> {does}
					</li>
				))}
			</ul>
			<label class="check">
				<input type="checkbox" checked={isSaying.value} onChange={() => (isSaying.value = !isSaying.value)} /> A screen
				reader says new requests, once a second at most
			</label>
			<label class="check">
				<input type="checkbox" checked={areKeysOn.value} onChange={() => (areKeysOn.value = !areKeysOn.value)} /> Keys
				are on
			</label>
		</Dialog>
	);
}
