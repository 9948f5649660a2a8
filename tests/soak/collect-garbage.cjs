/** Loaded into the daemons of a soak: collects garbage on SIGUSR2, so that what is measured is what stays. */
process.on('SIGUSR2', () => globalThis.gc())
