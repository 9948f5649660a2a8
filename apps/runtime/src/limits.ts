/**
 * What the local API takes: bytes of a body, levels of nesting, calls of a batch, seconds of a body. Requests for services are
 * streams, and have the limits of their service.
 */
export const limits = {
  body: 1024 * 1024,
  depth: 32,
  batch: 100,
  bodySeconds: 30,
  requestSeconds: 0,
} as const
