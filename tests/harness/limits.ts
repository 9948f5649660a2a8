/**
 * How long a test waits for what should happen, in milliseconds. They end what hangs and measure nothing: each is many times what is
 * needed on a slow machine with other work.
 */

/** One test, one hook. */
export const testLimitMs = 300_000
/** One state that a test polls for, one action in a browser, one command of the command line. */
export const stepLimitMs = 120_000

/** For a poll that starts a program each time, such as `podman`: half a second between two of them, so that what is waited for gets the CPU. */
export const whereProgramsStart = { interval: 500 } as const
