/** W3C Trace Context, level 1: which trace a caller belongs to. It comes from anyone, so it only ever becomes a link. */
import { singleHeader } from './single-header.ts'

/** Version 00, in lower case, as the specification requires. Everything else is ignored. */
const format = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}$/
const header = 'traceparent'

export interface TraceLink {
  readonly traceId: string
  readonly spanId: string
}

function readTraceparent(value: string): TraceLink | undefined {
  const [, traceId, spanId] = (value.length === 55 && format.exec(value)) || []
  return traceId !== undefined && spanId !== undefined ? { traceId, spanId } : undefined
}

/** The trace of a caller; undefined without a header, with a malformed one, or with two. */
export function traceparentOf(rawHeaders: readonly string[]): TraceLink | undefined {
  const found = singleHeader(rawHeaders, header)
  return found === undefined ? undefined : readTraceparent(found)
}
