/**
 * Loaded into the daemons of a test: collects garbage on SIGUSR2, so that what is measured is what stays. A parent with a channel
 * is sent `collected` when it is done: on a busy machine this needs seconds.
 */
process.on('SIGUSR2', () => {
  globalThis.gc()
  process.send?.('collected', undefined, undefined, () => undefined)
})
