/**
 * Loaded into the daemons of a test: collects garbage on SIGUSR2, so that what is measured is what stays. A parent with a channel
 * is sent the bytes that JavaScript still uses when it is done: on a busy machine this needs seconds.
 */
process.on('SIGUSR2', () => {
  globalThis.gc()
  const { heapUsed, external } = process.memoryUsage()
  process.send?.({ collected: heapUsed + external }, undefined, undefined, () => undefined)
})
