import { Dialog } from "./dialog.tsx";
import { areKeysOn, keys } from "./keyboard.ts";

export function KeysDialog() {
	return (
		<Dialog title="Keys">
			<dl class="keys">
				{keys.map(({ key, does }) => (
					<div key={key}>
						<dt>
							<kbd>{key}</kbd>
						</dt>
						<dd>{does}</dd>
					</div>
				))}
			</dl>
			<label>
				<input type="checkbox" checked={areKeysOn.value} onChange={() => (areKeysOn.value = !areKeysOn.value)} /> Keys
				without a modifier are on
			</label>
		</Dialog>
	);
}
