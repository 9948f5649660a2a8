/** The HTTP shell of the services on Fastify: bodies as text, refusals in OAuth's words, DPoP proofs. Not for the runtime. */

export { type EventStream, openEventStream } from './event-stream.ts'
export { addFormRoutes } from './form-routes.ts'
export { addHealth } from './health.ts'
export type { HotPath, HotRequest } from './hot-path.ts'
export { createHttpApp, listenApp } from './http-app.ts'
export {
  type ProofOptions,
  proofAsOAuth,
  requireBinding,
  requireNode,
  requireProof,
  requireScope,
  requireShown,
  requireToken,
} from './require-proof.ts'
export { textBodyOf } from './text-body.ts'
