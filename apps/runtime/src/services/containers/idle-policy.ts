/** When an instance without requests is paused. */
import type { Plan } from '../engines/engine.ts'

const defaultIdleSeconds = { function: 300, oci: 0 } as const

/** Seconds without a request after which an instance is paused; 0 means never, and that it starts without a request. */
export const idleSecondsOf = ({ settings, content }: Plan): number =>
  settings['MCM.IDLE_SEC'] ?? defaultIdleSeconds[content.kind]

interface Use {
  /** Requests under way. */
  readonly requests: number
  /** Monotonic milliseconds. */
  readonly lastUsed: number
}

/** An instance that handles a request is never idle, however long the request lasts. */
export const isIdle = ({ requests, lastUsed }: Use, idleSeconds: number, now: number): boolean =>
  idleSeconds > 0 && requests === 0 && now - lastUsed > idleSeconds * 1000
