import { type Reason, reasons } from '@selvedge/protocol'
import type { Metrics } from './registry.ts'

/** When a request with calls was read, on the scale of `performance.now()`. */
export interface Begun {
  readonly begunAt: number
}

/**
 * @param methods that are declared; a call of any other is `other`
 * @returns what a dispatcher calls for each answer (`onAnswer`)
 */
export function measureCalls(
  metrics: Metrics,
  methods: readonly string[],
): (method: string, reason: Reason | undefined, context: Begun) => void {
  const calls = metrics.counter(
    'selvedge_rpc_calls_total',
    'JSON-RPC calls by method and outcome: ok, or the reason of the error.',
    { method: methods, outcome: ['ok', ...reasons] },
  )
  const durations = metrics.histogram(
    'selvedge_rpc_call_duration_seconds',
    'Time from the body of a request until the answer of a JSON-RPC call in it.',
    { method: methods },
  )
  return (method, reason = 'ok' as Reason, { begunAt }) => {
    calls.count(method, reason)
    durations.observe((performance.now() - begunAt) / 1000, method)
  }
}
