import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { readLocalAddress } from '../addresses/local-address.ts'
import { expectNoUnfinishedRestore } from '../backup/swap.ts'
import { systemClock } from '../clock/clock.ts'
import {
  type ConfigOf,
  type daemonOptions,
  loadConfig,
  type Option,
  type Options,
  readConfigFile,
} from '../config/index.ts'
import { listenLocal } from '../http/listen-local.ts'
import { createLog, type Log } from '../log/index.ts'
import type { Metrics } from '../metrics/index.ts'
import type { RunningMetrics } from '../metrics/metrics.lazy.ts'
import { type Network, type OpenNetwork, readNetwork } from '../network/network.ts'
import { measureExport } from '../otel/measure-export.ts'
import type { Otlp } from '../otel/otlp.lazy.ts'
import { lockStateFolder, openStateFolder } from '../store/state-folder.ts'
import { followWorkload, type Workload } from '../work/workload.ts'
import type { Alarms } from './alarms.ts'
import { returnIdleMemory } from './idle-memory.ts'
import { createReadiness, type Readiness } from './readiness.ts'
import { runService, type Service } from './run-service.ts'
import { watchStalled } from './watch-stalled.ts'

/** What the options of every daemon have. */
type DaemonOptions = Options & typeof daemonOptions & { readonly state: Option<string> }

/** What a daemon gets from its process. */
export interface DaemonParts {
  readonly log: Log
  readonly alarms: Alarms
  /** Aborts when the start is not wanted any more. */
  readonly stopped: AbortSignal
  readonly readiness: Readiness
  /** How other machines are reached. */
  readonly network: Network
  /** Absent while nothing reads metrics. */
  readonly metrics?: Metrics
}

export interface Daemon<Table extends DaemonOptions> {
  /** Its section of the configuration file, its subfolder of the state folder and the service in its log lines. */
  readonly name: 'runtime' | 'identity' | 'discovery'
  readonly options: Table
  /** Whether it stores anything in the state folder, which is then its own while it runs. */
  readonly usesFolder: (config: ConfigOf<Table>) => boolean
  /** Paths of its HTTP listeners, as labels of metrics; one that ends with `/*` means all paths below it. */
  readonly routes: readonly string[]
  readonly openNetwork: OpenNetwork
  start(config: ConfigOf<Table>, parts: DaemonParts): Promise<Service>
}

/**
 * Without it V8 may come to put an object of each request where only a full garbage collection finds that it is over. What it
 * refers to stays with it: up to a third of the CPU of a request was garbage collection, in about every second run. Set after the start:
 * with other flags than those that it was compiled with, V8 compiles each module of Node.js again.
 */
const v8Flags = '--no-allocation-site-pretenuring'

/** Runs a daemon: reads its configuration, locks its state folder, starts it, and stops it as {@link runService} does. */
export function runDaemon<const Table extends DaemonOptions>(daemon: Daemon<Table>): Promise<void> {
  const { name, options, usesFolder } = daemon
  return runService(name, async (alarms, stopped) => {
    const { argv, env } = process
    const file = readConfigFile(env.SELVEDGE_CONFIG, name)
    const config = loadConfig(options, { argv: argv.slice(2), env, file })
    const own = config as ConfigOf<DaemonOptions>
    const { state, 'log.level': level } = own
    const drainMs = own['drain.seconds'] * 1000
    const readiness = createReadiness()
    const workload = followWorkload()
    const log = createLog({ service: name, level, format: own['log.format'], now: systemClock.now })
    let release = () => {}
    if (usesFolder(config)) {
      alarms.recordCrashesIn(openStateFolder(state, name, log.warn))
      release = lockStateFolder(state, name)
      expectNoUnfinishedRestore(join(state, name))
    }
    const network = readNetwork(own, daemon.openNetwork)
    const measured = await measure(name, own, { alarms, log, routes: daemon.routes, workload, network })
    const parts = { log, alarms, stopped, readiness, network, ...measured?.parts }
    const service = await daemon.start(config, parts)
    readiness.setReady()
    setFlagsFromString(v8Flags)
    const endChecks = returnIdleMemory()
    const endWatch = watchStalled(workload, readiness, log)
    return {
      ready: service.ready,
      drainMs,
      async stop() {
        endChecks()
        endWatch()
        readiness.setDraining()
        if (drainMs > 0) await sleep(drainMs)
        await service.stop()
        await measured?.stop()
        release()
      },
    }
  })
}

/** Measures if metrics are read or exported; otherwise nothing is loaded. @throws ListenError */
async function measure(
  name: string,
  config: ConfigOf<DaemonOptions>,
  parts: { alarms: Alarms; log: Log; routes: readonly string[]; workload: Workload; network: Network },
) {
  const where = readLocalAddress(config['metrics.listen'])
  const endpoint = config['otel.endpoint']
  if (!where && endpoint === '') return undefined
  const { log, network } = parts
  const { startMetrics } = await import('../metrics/metrics.lazy.ts')
  let otlp: Otlp | undefined
  const onRequest: Parameters<typeof startMetrics>[1] =
    endpoint === '' ? undefined : (request) => otlp?.onRequest(request)
  const running: RunningMetrics = startMetrics(parts, onRequest)
  if (endpoint !== '') {
    const { startOtlp } = await import('../otel/otlp.lazy.ts')
    const own = startOtlp(endpoint, name, { ...running, log, outbound: network.for('telemetry') })
    otlp = own
    measureExport(running.metrics, own.dropped)
  }
  const listening = where && (await running.listen(where, listenLocal))
  return {
    parts: { metrics: running.metrics },
    async stop() {
      running.stop()
      await Promise.all([listening?.close(), otlp?.stop()])
    },
  }
}
