/** The code of OTLP: loaded when `otel.endpoint` is set. */
import { randomUUID } from 'node:crypto'
import { version } from '@selvedge/protocol'
import type { Log } from '../log/index.ts'
import type { EndedRequest } from '../metrics/http-requests.ts'
import type { Family } from '../metrics/registry.ts'
import type { Outbound } from '../network/network.ts'
import { inBackground, safely } from '../safely/safely.ts'
import { createBackOff } from './back-off.ts'
import { createCollector } from './collector.ts'
import { otlpMetrics } from './otlp-metrics.ts'
import { type Span, text } from './spans.ts'
import { followTraces } from './traces.ts'

export interface OtlpSettings {
  /** Milliseconds between two sendings of spans, and of metrics. */
  readonly spansMs: number
  readonly metricsMs: number
  /** Spans that may wait; more are dropped and counted. */
  readonly maxSpans: number
  /** Milliseconds for a request to the collector. */
  readonly timeoutMs: number
  /** Longest pause after failures, in milliseconds. */
  readonly maxPauseMs: number
}

const defaults: OtlpSettings = {
  spansMs: 5000,
  metricsMs: 60_000,
  maxSpans: 2048,
  timeoutMs: 10_000,
  maxPauseMs: 60_000,
}
/** Spans of one request to the collector: about 250 KB. */
const maxBatch = 512
/** Milliseconds for the last spans when the daemon stops. */
const lastMs = 1000

export interface Otlp {
  /** Notes an answered request. It never waits. */
  onRequest(request: EndedRequest): void
  /** Spans that were dropped because the collector was too slow or refused them. */
  dropped(): number
  stop(): Promise<void>
}

export interface OtlpParts {
  /** The present metrics. */
  readonly collect: () => readonly Family[]
  /** The label of the target of a request; undefined: not a known path. */
  readonly routeOf: (target: string) => string | undefined
  readonly log: Log
  readonly outbound: Outbound
}

/**
 * Exports spans of requests and metrics to a collector. What a slow collector does not accept in time is dropped: the queue and
 * the batch that is being sent are all that waits.
 */
export function startOtlp(
  endpoint: string,
  service: string,
  { collect, routeOf, log, outbound }: OtlpParts,
  settings: Partial<OtlpSettings> = {},
): Otlp {
  const { spansMs, metricsMs, maxSpans, timeoutMs, maxPauseMs } = { ...defaults, ...settings }
  const collector = createCollector(endpoint, timeoutMs, outbound)
  const resource = {
    attributes: [
      text('service.name', `selvedge-${service}`),
      text('service.version', version),
      text('service.instance.id', randomUUID()),
    ],
  }
  const scope = { name: 'selvedge', version }
  const backOff = createBackOff(maxPauseMs, (isFailing) => {
    if (isFailing) log.warn('the collector does not accept telemetry; it is tried again later', { endpoint })
    else log.info('the collector accepts telemetry again', { endpoint })
  })
  let waiting: Span[] = []
  let batch: readonly Span[] = []
  let dropped = 0
  let isSending = false

  async function sendSpans(): Promise<void> {
    if (batch.length === 0) batch = waiting.splice(0, maxBatch)
    if (batch.length === 0) return
    const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans: batch }] }] })
    const result = await collector.send('/v1/traces', body)
    backOff.note(result === 'sent')
    if (result === 'failed') return
    if (result === 'refused') dropped += batch.length
    batch = []
  }

  async function sendMetrics(): Promise<void> {
    const metrics = otlpMetrics(collect())
    const body = JSON.stringify({ resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics }] }] })
    backOff.note((await collector.send('/v1/metrics', body)) === 'sent')
  }

  /** One request at a time, and no request during a pause. */
  const unlessBusy = (send: () => Promise<void>) => async () => {
    if (isSending || !backOff.mayTry()) return
    isSending = true
    try {
      await send()
    } finally {
      isSending = false
    }
  }
  const spansTimer = setInterval(safely('otel.spans', unlessBusy(sendSpans)), spansMs).unref()
  const metricsTimer = setInterval(safely('otel.metrics', unlessBusy(sendMetrics)), metricsMs).unref()

  const add = (make: () => Span) => {
    if (waiting.length >= maxSpans) dropped++
    else if (waiting.push(make()) >= maxBatch && !isSending)
      inBackground('otel.spans', unlessBusy(sendSpans)())
  }
  const traces = followTraces({ routeOf, onSpan: add })

  return {
    onRequest: traces.onRequest,
    dropped: () => dropped,
    async stop() {
      traces.stop()
      clearInterval(spansTimer)
      clearInterval(metricsTimer)
      const late = new Promise<void>((resolve) => setTimeout(resolve, lastMs).unref())
      await Promise.race([unlessBusy(sendSpans)(), late])
      waiting = []
    },
  }
}
