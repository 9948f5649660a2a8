/**
 * The places that a trace is followed through: requests, work that callers share, calls to other services and to stores. Spans are
 * created by what subscribes to these channels, which is `otel` if `otel.endpoint` is set. Otherwise nothing is created, and each
 * place costs one check.
 */
import { channel } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'

/** Each request is published here as its response, when work for it begins or continues. */
export const tracedRequests = channel('selvedge:traced-request')
/** Each piece of work is published here as a {@link TracedWork}, when it begins. */
export const tracedWork = channel('selvedge:traced-work')

/** `shared`: begun by one caller, for others as well. `call`: to another service. `store`: to a database or a document. */
export type WorkKind = 'shared' | 'call' | 'store'

/** A piece of work; the subscriber sets what it wants back. */
export interface TracedWork {
  readonly kind: WorkKind
  /** Fixed in the code: no text of a caller. */
  readonly name: string
  /** The header that a call sends to the other service. */
  traceparent?: string
  end?: (isFailed: boolean) => void
}

/** Does a part of the work for a request. What it starts belongs to the trace of the request. */
export function inRequest<T>(response: ServerResponse, work: () => T): T {
  return tracedRequests.hasSubscribers ? tracedRequests.runStores(response, work) : work()
}

/**
 * Does work that has a span of its own.
 *
 * @param work gets the value of the header `traceparent` for a call; undefined: no header
 */
export function traced<T>(
  kind: WorkKind,
  name: string,
  work: (traceparent: string | undefined) => Promise<T>,
): Promise<T> {
  if (!tracedWork.hasSubscribers) return work(undefined)
  const own: TracedWork = { kind, name }
  const result = tracedWork.runStores(own, () => work(own.traceparent))
  result.then(
    () => own.end?.(false),
    () => own.end?.(true),
  )
  return result
}

/** The part of `fetch` that is needed here. */
type FetchLike<Init, Response> = (url: string, init: Init) => Promise<Response>

/**
 * A `fetch` that sends the trace that its requests belong to.
 *
 * @param service name of the service for spans: no URL, which may hold IDs
 */
export const tracedFetch =
  <Init extends { readonly method: string; readonly headers: Record<string, string> }, Response>(
    service: string,
    fetch: FetchLike<Init, Response>,
  ): FetchLike<Init, Response> =>
  (url, init) =>
    traced('call', `${init.method} ${service}`, (traceparent) =>
      fetch(url, traceparent === undefined ? init : { ...init, headers: { ...init.headers, traceparent } }),
    )
