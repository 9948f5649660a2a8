/** Spans (OTLP 1.x, JSON). They name the route and the status, and nothing of the caller but a link to its trace. */
import { METHODS } from 'node:http'
import type { EndedRequest } from '../metrics/http-requests.ts'

/** Span.SpanKind of OTLP. */
export const spanKinds = { internal: 1, server: 2, client: 3 } as const
const statusError = 2
const methods = new Set(METHODS)

/** In hexadecimal digits: 32 and 16 of them. */
export interface SpanIds {
  readonly traceId: string
  readonly spanId: string
}

export type Span = SpanIds & Readonly<Record<string, unknown>>

export type Attribute = { readonly key: string; readonly value: Readonly<Record<string, string>> }

export const text = (key: string, value: string): Attribute => ({ key, value: { stringValue: value } })

/** Nanoseconds of a time on the scale of `performance.now()`, as text: they do not fit into a number. */
export const nanoseconds = (at: number): string => {
  const microseconds = BigInt(Math.round((performance.timeOrigin + at) * 1000))
  return `${microseconds}000`
}

const idsOf = ({ traceId, spanId }: SpanIds): SpanIds => ({ traceId, spanId })

interface RequestFacts extends EndedRequest {
  readonly ids: SpanIds
  /** The span of the caller. */
  readonly link: SpanIds | undefined
  /** Whether its caller left before the answer. */
  readonly isAborted: boolean
}

/** The span of a request that is over now. It failed if the status is 5xx, or if its caller left before the answer. */
export function requestSpan({
  request,
  response: { statusCode },
  route,
  begunAt,
  ids,
  link,
  isAborted,
}: RequestFacts): Span {
  const { method = '' } = request
  const shownMethod = methods.has(method) ? method : '_OTHER'
  return {
    ...idsOf(ids),
    name: route === undefined ? shownMethod : `${shownMethod} ${route}`,
    kind: spanKinds.server,
    startTimeUnixNano: nanoseconds(begunAt),
    endTimeUnixNano: nanoseconds(performance.now()),
    attributes: [
      text('http.request.method', shownMethod),
      ...(route === undefined ? [] : [text('http.route', route)]),
      isAborted
        ? text('error.type', 'aborted')
        : { key: 'http.response.status_code', value: { intValue: String(statusCode) } },
    ],
    ...(link && { links: [idsOf(link)] }),
    status: isAborted || statusCode >= 500 ? { code: statusError } : {},
  }
}

interface WorkFacts {
  /** Fixed in the code. */
  readonly name: string
  /** One of {@link spanKinds}. */
  readonly kind: number
  readonly begunAt: number
  readonly ids: SpanIds
  readonly parent: SpanIds | undefined
  readonly link: SpanIds | undefined
  readonly isFailed: boolean
}

/** The span of work that is over now. */
export const workSpan = ({ name, kind, begunAt, ids, parent, link, isFailed }: WorkFacts): Span => ({
  ...idsOf(ids),
  ...(parent && { parentSpanId: parent.spanId }),
  name,
  kind,
  startTimeUnixNano: nanoseconds(begunAt),
  endTimeUnixNano: nanoseconds(performance.now()),
  attributes: [],
  ...(link && { links: [idsOf(link)] }),
  status: isFailed ? { code: statusError } : {},
})
