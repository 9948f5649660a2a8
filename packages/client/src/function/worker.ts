/** A module worker: `export default { fetch(request, env, ctx) { … }, scheduled(event, env, ctx) { … } }`. */
import type { ScheduledEvent } from './scheduled.ts'
import type { FunctionInfo, FunctionSecrets, FunctionStorage, IdentityToken } from './storage.ts'

export interface WorkerContext {
  readonly info: FunctionInfo
  readonly storage: FunctionStorage
  /** A token that proves to an audience which service calls it. */
  readonly identityToken: (audience: string) => Promise<IdentityToken>
  readonly secrets: FunctionSecrets
  /**
   * The function is not stopped before the promise settles. What it rejects with is written to the log. A run of `scheduled` lasts until then, and has
   * failed if it rejects.
   */
  readonly waitUntil: (promise: Promise<unknown>) => void
  /** For code of other platforms; does nothing. */
  readonly passThroughOnException: () => void
}

/**
 * The default export of a module worker.
 *
 * @example
 * ```ts
 * import type { Worker } from '@selvedge/client/function'
 *
 * export default {
 *   fetch: (request, env, ctx) => Response.json({ path: new URL(request.url).pathname, node: ctx.info.nodeId }),
 * } satisfies Worker
 * ```
 */
export interface Worker<Env extends object = Readonly<Record<string, string | undefined>>> {
  /** Answers a request. @param env the strings of the deployment's `env` */
  fetch?(request: Request, env: Env, ctx: WorkerContext): Response | Promise<Response>
  /** Called at the times of `MCM.CRON`. What it throws or rejects with is written to the log. @param env as for `fetch` */
  scheduled?(event: ScheduledEvent, env: Env, ctx: WorkerContext): unknown
}
