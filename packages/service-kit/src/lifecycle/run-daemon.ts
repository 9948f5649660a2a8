import { setFlagsFromString } from 'node:v8'
import { systemClock } from '../clock/clock.ts'
import { type ConfigOf, loadConfig, type Option, type Options, readConfigFile } from '../config/index.ts'
import { createLog, type Level, type Log } from '../log/log.ts'
import { lockStateFolder, openStateFolder } from '../store/state-folder.ts'
import type { Alarms } from './alarms.ts'
import { runService, type Service } from './run-service.ts'

/** What the options of every daemon have. */
type DaemonOptions = Options & {
  readonly state: Option<string>
  readonly 'log.level': Option<Level>
}

export interface Daemon<Table extends DaemonOptions> {
  /** Its section of the configuration file, its subfolder of the state folder and the service in its log lines. */
  readonly name: 'runtime' | 'identity' | 'discovery'
  readonly options: Table
  /** Whether it stores anything in the state folder, which is then its own while it runs. */
  readonly usesFolder: (config: ConfigOf<Table>) => boolean
  /** @param stopped aborts when the start is not wanted any more */
  start(config: ConfigOf<Table>, log: Log, alarms: Alarms, stopped: AbortSignal): Promise<Service>
}

/**
 * Without it V8 may come to put an object of each request where only a full garbage collection finds that it is over. What it refers
 * to stays with it: up to a third of the CPU of a request was garbage collection, in about every second run.
 */
const v8Flags = '--no-allocation-site-pretenuring'

/** Runs a daemon: reads its configuration, takes its state folder, starts it, and ends it as {@link runService} does. */
export function runDaemon<const Table extends DaemonOptions>(daemon: Daemon<Table>): Promise<void> {
  const { name, options, usesFolder } = daemon
  setFlagsFromString(v8Flags)
  return runService(name, async (alarms, stopped) => {
    const { argv, env } = process
    const file = readConfigFile(env.SELVEDGE_CONFIG, name)
    const config = loadConfig(options, { argv: argv.slice(2), env, file })
    const { state, 'log.level': level } = config as ConfigOf<DaemonOptions>
    const log = createLog({ service: name, level, now: systemClock.now })
    let release = () => {}
    if (usesFolder(config)) {
      alarms.recordCrashesIn(openStateFolder(state, name, log.warn))
      release = lockStateFolder(state, name)
    }
    const service = await daemon.start(config, log, alarms, stopped)
    return {
      ready: service.ready,
      async stop() {
        await service.stop()
        release()
      },
    }
  })
}
