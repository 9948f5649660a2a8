import type { FastifyInstance } from 'fastify'
import { reportFailure } from '../safely/safely.ts'

/** Milliseconds for which a result is cached, so that frequent checks do not load the database. */
const validMs = 1000

/**
 * The health check of a daemon: 200 `{ "status": "ok" }` while its store answers, else 503 `{ "status": "unavailable" }`.
 *
 * @param check asks the store; a rejection means that it does not answer
 */
export function addHealth(app: FastifyInstance, path: string, check: () => Promise<unknown>): void {
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

  app.get(path, async (_request, reply) => {
    const now = performance.now()
    if (!last || now - askedAt > validMs) {
      askedAt = now
      last = answers()
    }
    if (await last) return { status: 'ok' }
    reply.code(503)
    return { status: 'unavailable' }
  })
}
