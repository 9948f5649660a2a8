/** Bounds the requests that are under way on each route of an app, vital ones aside. */
import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { type ConcurrencyLimit, createConcurrencyLimit } from '../http/concurrency-limit.ts'

interface RouteLoad {
  readonly limit: ConcurrencyLimit
  underWay: number
}

/**
 * @param vital paths of the routes that are always served
 * @param refuse answers a request for which there is no room
 */
export function limitRoutes(
  app: FastifyInstance,
  vital: ReadonlySet<string>,
  refuse: (response: ServerResponse) => void,
): void {
  /** One for each route that the app declares. */
  const loads = new Map<string, RouteLoad>()
  const counted = new WeakMap<object, RouteLoad>()

  app.addHook('onRequest', (request, reply, done) => {
    const { url = '' } = request.routeOptions
    if (vital.has(url)) return done()
    let load = loads.get(url)
    if (!load) loads.set(url, (load = { limit: createConcurrencyLimit(), underWay: 0 }))
    if (!load.limit.hasRoom(load.underWay)) {
      reply.hijack()
      return refuse(reply.raw)
    }
    load.underWay++
    counted.set(reply, load)
    done()
  })
  app.addHook('onResponse', (_request, reply, done) => {
    const load = counted.get(reply)
    if (load) {
      load.underWay--
      load.limit.ended(reply.elapsedTime)
    }
    done()
  })
}
