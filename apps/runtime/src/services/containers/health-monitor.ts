/** Checks the health of the instance that serves, and ends it when it stays unhealthy. */
import type { ContainerRecord } from '@selvedge/protocol'
import { inBackground } from '@selvedge/service-kit/safely'
import { speaksHttp2 } from '../engines/speaks-http2.ts'
import { afterCheck, initialHealth, isCheckDue, maxFailedChecks, mustEnd } from './health-policy.ts'
import type { Running } from './instances.ts'
import { commandMs, probeOf } from './probe.ts'

/** Milliseconds for an instance to answer a health check. */
const probeTimeoutMs = 5000

/** What checks the health of an instance: its path, else its command; undefined if it has neither. */
function checkOf(running: Running): (() => Promise<string | undefined>) | undefined {
  const { plan, instance } = running
  const path = plan.settings['MCM.HEALTH_PATH']
  if (path !== undefined) return () => probeOf(speaksHttp2(running))(instance.upstream, path, probeTimeoutMs)
  const { checkHealth } = instance
  return checkHealth && (() => checkHealth(commandMs))
}

export interface HealthMonitor {
  /** Starts with the health of another instance. */
  watch(running: Running): void
  /** Checks the watched instance if it serves and a check is due. */
  tick(): void
  /** `unknown` if no instance serves. */
  health(): ContainerRecord['health']
}

/**
 * @param now monotonic milliseconds
 * @param current the instance that serves
 * @param end called to end an instance that stays unhealthy
 */
export function createHealthMonitor(
  now: () => number,
  current: () => Running | undefined,
  end: (running: Running) => Promise<void>,
): HealthMonitor {
  let state = initialHealth(false, now())

  async function check(running: Running, look: () => Promise<string | undefined>): Promise<void> {
    const problem = await look()
    if (current() !== running) return
    state = afterCheck(state, problem === undefined)
    if (!mustEnd(state)) return
    running.plan.log(
      'runtime',
      `it was not healthy ${maxFailedChecks} times in a row, and is ended: ${problem}`,
    )
    await end(running)
  }

  return {
    watch(running) {
      state = initialHealth(checkOf(running) !== undefined, now())
    },
    tick() {
      const running = current()
      const look = running && checkOf(running)
      if (!look || !isCheckDue(state, now())) return
      state = { ...state, lastCheck: now() }
      inBackground('containers.health', check(running, look))
    },
    health: () => (current() ? state.health : 'unknown'),
  }
}
