/** Bounds the requests that are under way on each route of an app, vital ones aside. */
import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { createLimitedWork, type LimitedWork } from '../work/limited-work.ts'

/**
 * Counts the handler of each route from its call until its promise settles: neither a body that arrives slowly nor a client that
 * left, or does not read, has an influence. To be called before the routes are added.
 *
 * @param vital paths of the routes that are always served
 * @param refuse answers a request for which there is no room
 */
export function limitRoutes(
  app: FastifyInstance,
  vital: ReadonlySet<string>,
  refuse: (response: ServerResponse) => void,
): void {
  /** One for each path that the app declares. */
  const limits = new Map<string, LimitedWork>()

  app.addHook('onRoute', (route) => {
    const { url, handler } = route
    if (vital.has(url)) return
    const limit = limits.get(url) ?? createLimitedWork({ announced: { kind: 'requests', name: url } })
    limits.set(url, limit)
    route.handler = function limited(request, reply) {
      if (limit.hasRoom()) return limit.run(() => handler.call(this, request, reply))
      reply.hijack()
      return refuse(reply.raw)
    }
  })
}
