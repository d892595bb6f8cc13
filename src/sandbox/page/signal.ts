/** A value that the page shows. Setting another one renders the page again. */
export interface Signal<T> {
	value: T;
}

let version = 0;
let isWaiting = false;
let render: () => void = () => undefined;

/** Renders the page now, and once after each turn in which a signal changed. */
export function onChange(draw: () => void): void {
	render = draw;
	draw();
}

export function signal<T>(first: T): Signal<T> {
	let current = first;
	return {
		get value() {
			return current;
		},
		set value(next) {
			if (next === current) return;
			current = next;
			version++;
			if (isWaiting) return;
			isWaiting = true;
			queueMicrotask(() => {
				isWaiting = false;
				render();
			});
		},
	};
}

/** A value that follows from signals; it is computed when it is read after a change. */
export function computed<T>(compute: () => T): { readonly value: T } {
	let at = -1;
	let current: T;
	return {
		get value() {
			if (at !== version) current = compute();
			at = version;
			return current;
		},
	};
}
