/** What the local API takes: bytes of a body, levels of nesting, calls of a batch, seconds of a request. */
export const limits = { body: 1024 * 1024, depth: 32, batch: 100, requestSeconds: 30 } as const
