import { once } from 'node:events'
import { systemClock } from '../clock/clock.ts'
import { ConfigError } from '../config/index.ts'
import { ListenError } from '../http/listen.ts'
import { createLog, writeNote } from '../log/index.ts'
import { StoreError } from '../store/store-error.ts'
import { type Alarms, raiseAlarms } from './alarms.ts'
import { ChildFailure } from './child.ts'
import { exitCodes } from './exit-codes.ts'
import { findSystemd } from './systemd.ts'

/** A started program: what it sends to its parent, and how it ends. */
export interface Service {
  /** Sent to the parent process once the program is ready. */
  readonly ready: object
  /** Milliseconds that `stop` may need beyond the usual time. Default: 0. */
  readonly drainMs?: number
  stop(): Promise<void>
}

/** Milliseconds: to finish a start that is not wanted any more, and to stop in order. */
const timeouts = { start: 2000, stop: 8000 }

/**
 * Runs a program until a signal, or until the process that started it exits. Signal handlers and alarms are set
 * before `start` is called. A program that does not end in time is killed.
 *
 * Exit codes: {@link exitCodes}. When a program cannot start, its last line on standard error is one sentence with the reason.
 *
 * @param name of the program, for its log
 * @param start gets the alarms of the process, and a signal that aborts when a start is not wanted any more
 * @param unrepairable exit code when a person has to repair configuration or state
 */
export async function runService(
  name: string,
  start: (alarms: Alarms, stopped: AbortSignal) => Promise<Service>,
  unrepairable: number = exitCodes.unrepairable,
): Promise<void> {
  const stopping = new AbortController()
  let isReady = false
  let stopMs = timeouts.start
  const stop = () => {
    setTimeout(kill, stopMs).unref()
    stopping.abort()
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop)
  if (process.send) process.on('disconnect', stop)
  if (process.send && !process.connected) stop()
  const log = createLog({ service: name, level: 'error', now: systemClock.now })
  const alarms = raiseAlarms(log, systemClock.now)
  const systemd = findSystemd(process.env, (cause) => log.error('systemd was not notified', { cause }))
  // A closed standard output is no reason to end.
  process.stdout.on('error', () => undefined)
  // What a daemon writes is for its user alone; sockets for others set their mode themselves.
  process.umask(0o077)
  try {
    const service = await start(alarms, stopping.signal)
    isReady = true
    stopMs = timeouts.stop + (service.drainMs ?? 0)
    process.send?.({ ready: service.ready }, undefined, undefined, () => undefined)
    systemd.send('READY=1')
    if (!stopping.signal.aborted) await once(stopping.signal, 'abort')
    systemd.send('STOPPING=1')
    await service.stop()
  } catch (cause) {
    if (!isReady && stopping.signal.aborted) process.exit(exitCodes.stopped)
    // A child has said itself why it did not start.
    if (!(cause instanceof ChildFailure))
      writeNote(`error: ${isReady ? '' : `${name} did not start: `}${explain(cause)}`)
    process.exit(isUnrepairable(cause) ? unrepairable : exitCodes.failed)
  }
  process.exit(exitCodes.stopped)
}

/** `process.exit` waits for the threads of the file system, which a hanging disk or network share may hold for ever. */
function kill(): void {
  process.kill(process.pid, 'SIGKILL')
}

const isUnrepairable = (cause: unknown): boolean =>
  cause instanceof ConfigError || (cause instanceof StoreError && cause.isUnrepairable)

/** One sentence for mistakes of a person and refusals of the system; anything else is a defect, shown with its stack. */
function explain(cause: unknown): string {
  const isForeseen =
    cause instanceof ConfigError || cause instanceof ListenError || cause instanceof StoreError
  const isOfSystem = cause instanceof Error && 'syscall' in cause
  return isForeseen || isOfSystem ? (cause as Error).message : String((cause as Error)?.stack ?? cause)
}
