/** The code of metrics: loaded when they are on. */
import type { LocalAddress } from '../addresses/local-address.ts'
import type { listenLocal } from '../http/listen-local.ts'
import type { Alarms } from '../lifecycle/alarms.ts'
import type { Workload } from '../work/workload.ts'
import { exposition } from './exposition.ts'
import { type EndedRequest, measureHttpRequests } from './http-requests.ts'
import { createMetricsListener, metricsLimits, metricsSocketMode } from './listener.ts'
import { measureWork } from './measure-work.ts'
import { measureProcess } from './process.ts'
import { createRegistry, type Declared, type Family, type Metrics } from './registry.ts'

export interface RunningMetrics {
  readonly metrics: Metrics
  collect(): readonly Family[]
  /** What is declared, for the reference. */
  declared(): readonly Declared[]
  /** The label of the target of an HTTP request; undefined: `other`. */
  readonly routeOf: (target: string) => string | undefined
  /** Opens the listener that Prometheus reads. @throws ListenError */
  listen(where: LocalAddress, open: typeof listenLocal): ReturnType<typeof listenLocal>
  stop(): void
}

/**
 * @param parts.routes paths that are labels of HTTP requests; see {@link measureHttpRequests}
 * @param onRequest called with each answered request
 */
export function startMetrics(
  {
    alarms,
    routes,
    workload,
  }: {
    readonly alarms: Pick<Alarms, 'counts'>
    readonly routes: readonly string[]
    readonly workload: Workload
  },
  onRequest?: (request: EndedRequest) => void,
): RunningMetrics {
  const registry = createRegistry()
  const stopProcess = measureProcess(registry, alarms)
  measureWork(registry, workload)
  const http = measureHttpRequests(registry, { routes, onEnd: onRequest })
  return {
    metrics: registry,
    collect: registry.collect,
    declared: registry.declared,
    routeOf: http.routeOf,
    listen(where, open) {
      return open(where, metricsSocketMode, 'option "metrics.listen"', metricsLimits, (port) => {
        const { request: serve } = createMetricsListener(() => exposition(registry.collect()), port)
        const request: typeof serve = (incoming, response) => {
          http.ignore(response)
          serve(incoming, response)
        }
        return { request }
      })
    },
    stop() {
      http.stop()
      stopProcess()
    },
  }
}
