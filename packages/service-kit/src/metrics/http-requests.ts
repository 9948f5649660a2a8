/**
 * Requests of all HTTP servers of the process, from the events that Node publishes about them. Without metrics there is no
 * subscriber. Nothing is allocated for a request: a listener for each of them cost 4 µs.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { safely } from '../safely/safely.ts'
import type { Metrics } from './registry.ts'

/** Published by Node when the headers of a request were read, and when its answer was sent (node:diagnostics_channel). */
const events = { start: 'http.server.request.start', finish: 'http.server.response.finish' } as const

const codes = ['1xx', '2xx', '3xx', '4xx', '5xx', 'aborted'] as const

/** When the request of an answer began, on the scale of `performance.now()`. */
const begunAt = Symbol('begunAt')
/** The requests of a connection that were not answered yet. */
const pending = Symbol('pending')

interface Message {
  readonly request: IncomingMessage
  readonly response: ServerResponse & {
    [begunAt]?: number
    readonly req: { readonly socket: Message['socket'] }
  }
  readonly socket: Socket & { [pending]?: { count: number; route: string | undefined } }
}

/** A request that was answered. */
export interface EndedRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly route: string | undefined
  /** On the scale of `performance.now()`. */
  readonly begunAt: number
}

export interface HttpRequestsOptions {
  /** Paths that are labels; one that ends with `/*` means all paths below it. Every other path is `other`. */
  readonly routes: readonly string[]
  readonly onEnd?: ((request: EndedRequest) => void) | undefined
}

export interface HttpRequests {
  /** The label of the target of a request; undefined: `other`. */
  readonly routeOf: (target: string) => string | undefined
  /** Leaves out a request that has begun: those for the metrics are nothing that the daemon does. */
  ignore(response: ServerResponse): void
  stop(): void
}

export function measureHttpRequests(metrics: Metrics, { routes, onEnd }: HttpRequestsOptions): HttpRequests {
  const labelOf = createRouteLabel(routes)
  const requests = metrics.counter(
    'selvedge_http_requests_total',
    'HTTP requests by route and class of the status; aborted: the connection closed before the answer was sent.',
    { route: routes, code: codes },
  )
  const durations = metrics.histogram(
    'selvedge_http_request_duration_seconds',
    'Time from the headers of an HTTP request until its answer was sent, streams included.',
    { route: routes },
  )
  let active = 0
  metrics.gauge('selvedge_http_requests_active', 'HTTP requests that are under way.', () => active)

  function follow(socket: Message['socket']): NonNullable<Message['socket'][typeof pending]> {
    const own = { count: 0, route: undefined as string | undefined }
    const close = () => {
      active -= own.count
      for (; own.count > 0; own.count--) requests.count(own.route, 'aborted')
    }
    socket[pending] = own
    socket.once('close', safely('metrics.close', close))
    return own
  }

  const onStart = safely('metrics.start', (message: unknown) => {
    const { request, response, socket } = message as Message
    const own = socket[pending] ?? follow(socket)
    own.count++
    own.route = labelOf(request.url!)
    active++
    response[begunAt] = performance.now()
  })
  const onFinish = safely('metrics.finish', (message: unknown) => {
    const { request, response, socket } = message as Message
    const begun = response[begunAt]
    if (begun === undefined || begun === ignored) return
    const own = socket[pending]
    // After the end of the connection it counts as aborted already.
    if (!own || own.count === 0) return
    own.count--
    active--
    const route = labelOf(request.url!)
    requests.count(route, codes[Math.floor(response.statusCode / 100) - 1])
    durations.observe((performance.now() - begun) / 1000, route)
    onEnd?.({ request, response, route, begunAt: begun })
  })
  subscribe(events.start, onStart)
  subscribe(events.finish, onFinish)
  return {
    routeOf: labelOf,
    ignore(response: Message['response']) {
      response[begunAt] = ignored
      const own = response.req.socket[pending]
      if (!own) return
      own.count--
      active--
    },
    stop() {
      unsubscribe(events.start, onStart)
      unsubscribe(events.finish, onFinish)
    },
  }
}

const ignored = -1

/** @returns a function from the target of a request to its label; undefined: another path */
function createRouteLabel(routes: readonly string[]): (target: string) => string | undefined {
  const exact = new Map(routes.map((route) => [route, route]))
  const prefixes = routes.filter((route) => route.endsWith('/*')).map((route) => [route, route.slice(0, -1)])
  return (target) => {
    const known = exact.get(target)
    if (known !== undefined) return known
    const path = target.split('?', 1)[0]!
    return exact.get(path) ?? prefixes.find(([, prefix]) => path.startsWith(prefix!))?.[0]
  }
}
