import type { FastifyInstance, FastifyReply } from 'fastify'
import { alwaysReady, type Readiness } from '../lifecycle/readiness.ts'
import { reportFailure } from '../safely/safely.ts'

/** Milliseconds for which a result is cached, so that frequent checks do not load the database. */
const validMs = 1000

/**
 * The checks of a daemon. Both answer 200 `{ "status": "ok" }`, or 503 `{ "status": "unavailable" }`: the health check while the
 * store does not answer, the readiness check also before the daemon has started and when it is about to stop.
 *
 * A daemon that cannot do everything, and serves what it can, is ready: 200 `{ "status": "degraded", "degraded": [names] }`. No replica
 * on the same database can do more, so a load balancer has nothing better.
 *
 * @param check queries the store; a rejection means that it does not answer
 */
export function addHealth(
  app: FastifyInstance,
  paths: { readonly health: string; readonly ready: string },
  check: () => Promise<unknown>,
  readiness: Readiness = alwaysReady,
  degraded: () => Promise<readonly string[]> = async () => [],
): void {
  let last: Promise<boolean> | undefined
  let askedAt = Number.NEGATIVE_INFINITY

  async function answers(): Promise<boolean> {
    try {
      await check()
      return true
    } catch (cause) {
      reportFailure('health.check', cause)
      return false
    }
  }

  async function isHealthy(): Promise<boolean> {
    const now = performance.now()
    if (!last || now - askedAt > validMs) {
      askedAt = now
      last = answers()
    }
    return last
  }

  const show = (reply: FastifyReply, isOk: boolean) => {
    if (isOk) return { status: 'ok' }
    reply.code(503)
    const stalled = readiness.stalled()
    return { status: 'unavailable', ...(stalled.length > 0 && { stalled }) }
  }
  app.get(paths.health, async (_request, reply) => show(reply, await isHealthy()))
  app.get(paths.ready, async (_request, reply) => {
    const isOk = readiness.isReady() && (await isHealthy()) && readiness.isReady()
    const names = isOk ? await degraded() : []
    return names.length > 0 ? { status: 'degraded', degraded: names } : show(reply, isOk)
  })
}
