import { ConfigError } from '../config/index.ts'
import { ListenError } from '../http/listen.ts'
import { StoreError } from '../store/store-error.ts'

/** A started program: what it tells its parent, and how it ends. */
export interface Service {
  /** Told to the parent process and printed once it is ready. */
  readonly ready: object
  stop(): Promise<void>
}

/** Milliseconds in which a program must have ended by itself. */
const patience = 8000

/**
 * Runs a program until a signal, or the end of the process that started it, asks it to stop.
 * Exit code 0 after an orderly end, 1 when it could not start or did not end in time.
 */
export async function runService(start: () => Promise<Service>): Promise<void> {
  // Every file that a daemon makes is its owner's alone, whatever mode the code asks for.
  process.umask(0o077)
  let service: Service
  let stopping = false
  const ending = Promise.withResolvers<void>()
  const stop = () => {
    if (stopping) return
    stopping = true
    ending.resolve()
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop)
  if (process.send) process.on('disconnect', stop)
  try {
    service = await start()
  } catch (cause) {
    process.stderr.write(`${explain(cause)}\n`)
    process.exit(1)
  }
  process.send?.({ ready: service.ready })
  await ending.promise
  setTimeout(() => process.exit(1), patience).unref()
  await service.stop()
  process.exit(0)
}

/** Mistakes of a person are told in one line; anything else is ours, with its stack. */
function explain(cause: unknown): string {
  const foreseen = cause instanceof ConfigError || cause instanceof ListenError || cause instanceof StoreError
  return foreseen ? `error: ${cause.message}` : `error: ${(cause as Error)?.stack ?? cause}`
}
