/**
 * Traces: which span each piece of work belongs to. The span of a request is the parent of the calls that it waits for. Shared work
 * has a trace of its own, with a link to the request that began it. A trace of another program is only ever linked to.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { traceparentOf } from '../http/traceparent.ts'
import type { EndedRequest } from '../metrics/http-requests.ts'
import { safely } from '../safely/safely.ts'
import { type TracedWork, tracedRequests, tracedWork, type WorkKind } from '../trace/trace.ts'
import { requestSpan, type Span, type SpanIds, spanKinds, workSpan } from './spans.ts'

/** A span that may have children. It holds neither the request nor the work: timers that outlive them may refer to it. */
interface Context extends SpanIds {
  readonly begunAt: number
  /** On the scale of `performance.now()`; undefined while it is under way. */
  endedAt: number | undefined
}

/** Milliseconds after the end of a span in which work that it left behind links to it. Later work, such as a retry, has no origin. */
const linkableMs = 60_000

const own = Symbol('trace context')
type TracedResponse = ServerResponse & { [own]?: Context }

export interface TracesParts {
  /** The label of the target of a request; undefined: not a known path. */
  readonly routeOf: (target: string) => string | undefined
  /** @param make the span of what is over now; called at once or never */
  readonly onSpan: (make: () => Span) => void
}

export interface Traces {
  /** Ends the span of an answered request. */
  onRequest(request: EndedRequest): void
  stop(): void
}

/** Bytes that are drawn at once: a draw costs as much as all other work for a span. */
const poolBytes = 4096

/** @returns a function that gives an ID as hexadecimal digits, two for each byte */
function createNewId(): (bytes: number) => string {
  let pool = Buffer.alloc(0)
  let used = 0
  return (bytes) => {
    if (used + bytes > pool.length) [pool, used] = [randomBytes(poolBytes), 0]
    used += bytes
    return pool.toString('hex', used - bytes, used)
  }
}

export function followTraces({ routeOf, onSpan }: TracesParts): Traces {
  const current = new AsyncLocalStorage<Context | undefined>()
  const newId = createNewId()

  function begin(parent: Context | undefined): Context {
    const traceId = parent?.traceId ?? newId(16)
    return { traceId, spanId: newId(8), begunAt: performance.now(), endedAt: undefined }
  }

  function endRequest(context: Context, answered: EndedRequest, isAborted: boolean): void {
    context.endedAt = performance.now()
    onSpan(() => {
      const link = traceparentOf(answered.request.rawHeaders)
      return requestSpan({ ...answered, ids: context, link, isAborted })
    })
  }

  /** The context of a request, from the first work for it. If its caller leaves before the answer, its span ends then. */
  function contextOf(response: TracedResponse): Context {
    const known = response[own]
    if (known) return known
    const context = begin(undefined)
    response[own] = context
    const { req: request } = response
    const abort = () => {
      if (context.endedAt !== undefined || response.writableFinished) return
      const route = routeOf(request.url!)
      endRequest(context, { request, response, route, begunAt: context.begunAt }, true)
    }
    response.once('close', safely('otel.aborted', abort))
    return context
  }

  /** A piece of work for which no caller waits has no span, unless it is a call. */
  function contextOfWork(work: TracedWork): Context | undefined {
    const origin = current.getStore()
    const isUnderWay = origin !== undefined && origin.endedAt === undefined
    if (work.kind !== 'call' && !isUnderWay) return origin
    const parent = isUnderWay && work.kind !== 'shared' ? origin : undefined
    const context = begin(parent)
    const link = parent ? undefined : linkable(origin)
    if (work.kind === 'call') work.traceparent = `00-${context.traceId}-${context.spanId}-01`
    work.end = (isFailed) => {
      context.endedAt = performance.now()
      const { begunAt } = context
      const kind = kindOf(work.kind)
      onSpan(() => workSpan({ name: work.name, kind, begunAt, ids: context, parent, link, isFailed }))
    }
    return context
  }

  tracedRequests.bindStore(current, (response) => contextOf(response as TracedResponse))
  tracedWork.bindStore(current, (work) => contextOfWork(work as TracedWork))
  return {
    onRequest: (answered) =>
      endRequest((answered.response as TracedResponse)[own] ?? begin(undefined), answered, false),
    stop() {
      tracedRequests.unbindStore(current)
      tracedWork.unbindStore(current)
      current.disable()
    },
  }
}

const kindOf = (kind: WorkKind): number => (kind === 'shared' ? spanKinds.internal : spanKinds.client)

const linkable = (origin: Context | undefined): Context | undefined =>
  origin && performance.now() - (origin.endedAt ?? performance.now()) < linkableMs ? origin : undefined
