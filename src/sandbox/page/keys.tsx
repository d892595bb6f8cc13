import { Dialog } from "./dialog.tsx";
import { keys } from "./keyboard.ts";
import { log, view } from "./store.ts";

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
				<input type="checkbox" checked={log.isSaid.value} onChange={() => (log.isSaid.value = !log.isSaid.value)} /> A
				screen reader says new requests, once a second at most
			</label>
			<label class="check">
				<input
					type="checkbox"
					checked={view.areKeysOn.value}
					onChange={() => (view.areKeysOn.value = !view.areKeysOn.value)}
				/>{" "}
				Keys are on
			</label>
		</Dialog>
	);
}
