import { hourMs } from "./clock.ts";
import type { Thread, World } from "./state.ts";
import { about } from "./world.ts";

export const windowMs = 24 * hourMs;

// Row "Window open · time passes": R88, R89, R92. The clock only reports it; every check compares instants.
export function windowExpiresAt(thread: Thread): number | null {
	return thread.windowFrom === null ? null : thread.windowFrom + windowMs;
}

export function isWindowOpen(thread: Thread, now: number): boolean {
	const expires = windowExpiresAt(thread);
	return expires !== null && expires > now; // R89: closed at the exact instant, because open is "in the future"
}

/** Reports the window's end when the clock reaches it. One check per thread is scheduled, however often the contact writes. */
export function awaitWindowEnd(world: World, thread: Thread): void {
	const expires = windowExpiresAt(thread);
	if (expires === null || world.closing.has(thread)) return;
	world.closing.add(thread);
	world.clock.schedule(expires, () => {
		world.closing.delete(thread);
		const now = world.clock.now();
		if (isWindowOpen(thread, now)) return awaitWindowEnd(world, thread);
		// A scenario's window may have ended before the present.
		if (windowExpiresAt(thread) === now) world.events.add({ type: "window.closed", ...about(thread) });
	});
}
