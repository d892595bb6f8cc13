/**
 * How long tests wait. A busy machine is slow, not wrong: a test waits for a condition, and these limits only end a run
 * that hangs.
 */
export const longestWaitMs = 180_000;

/** For the `test` of a config of Vitest. */
export const patience = {
	testTimeout: 300_000,
	hookTimeout: 300_000,
	expect: { poll: { timeout: longestWaitMs } },
} as const;
