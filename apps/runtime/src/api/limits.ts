/**
 * What the local API accepts: bytes of a body (methods declare less), levels of nesting, calls of a batch, seconds for a body.
 * Requests to services and uploads are streams: they need a minimum rate instead, and have the limits of their service.
 */
export const limits = {
  body: 1024 * 1024,
  depth: 32,
  batch: 100,
  bodySeconds: 30,
} as const
