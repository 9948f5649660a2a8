/**
 * Keeps one container in its desired state: starts it on a request or at once, pauses it when it is idle, restarts it when it
 * ends by itself, replaces it without a gap. It knows neither tokens nor the document; it passes events to `report`.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { type ContainerRecord, type EndReason, RpcError } from '@selvedge/protocol'
import { inBackground } from '@selvedge/service-kit/safely'
import type { Ending, Plan } from '../engines/engine.ts'
import { createAlone } from './alone.ts'
import { createHealthMonitor } from './health-monitor.ts'
import { idleSecondsOf, isIdle } from './idle-policy.ts'
import { endInstance, type Running, startInstance } from './instances.ts'
import { createServing, type Serving } from './serving.ts'
import { createStarts, type StartParts, type Starts } from './starts.ts'

/** Seconds for an instance to finish its requests: after another instance replaced it, and when the runtime ends. */
const graceSeconds = 10
const lastGraceSeconds = 3

export interface ServiceParts extends StartParts {
  /** Resolves when the leftovers of an earlier run are recovered; undefined from then on. Nothing starts before. */
  readonly ready: () => Promise<void> | undefined
  /** Called when another instance serves, or no instance. */
  readonly onServing: () => void
}

export interface Service {
  /** The instance for a request; starts one if no instance runs. @throws RpcError `container_failed`, `engine_unavailable`, `busy` */
  acquire(): Running | Promise<Running>
  /** Called when a request exceeded its time limit: a program that does not react any more is stopped. */
  overran(running: Running): Promise<void>
  /**
   * Replaces an instance with work that does not end: it answers the requests that it has for some seconds, and others get the next instance.
   * Does nothing if it does not serve any more.
   */
  retire(running: Running): void
  /**
   * Starts an instance of another plan and checks it, beside the one that runs. If two may not run at once, the one that runs is stopped
   * before; requests wait until `switchTo` or `discard`, and it starts again if the other one fails.
   *
   * @throws RpcError `container_failed`
   */
  prepare(plan: Plan): Promise<Running>
  /** Stops a prepared instance that will not be used. */
  discard(running: Running): Promise<void>
  /**
   * Sends requests to a prepared instance from now on, and ends the one before when it has answered. Resolves once the prepared one
   * has the storage of the container; requests wait until then. Never rejects.
   */
  switchTo(running: Running): Promise<void>
  /** Continues after a restart of the runtime: containers that are never idle start at once, others with their first request. */
  resume(): void
  /** Starts it now, if it waits for its next attempt. Resolves when the start that was under way before is complete. Never rejects. */
  retry(): Promise<void>
  /** Ends it. @param isLast whether the runtime ends, too, and has not long */
  stop(isLast?: boolean): Promise<void>
  /** Called every second: pauses an idle instance, checks its health. */
  tick(): void
  running(): Running | undefined
  /** While no instance runs: whether one starts without a request. Before `resume`, whether one will. */
  startsItself(): boolean
  health(): ContainerRecord['health']
  isolation(): readonly string[]
  /** Seconds until the next start after an end by itself; 0 where it may start now. */
  waiting(): number
  /** Why it last exited or did not start, since it was requested; undefined if it did neither. */
  lastEnd(): EndReason | undefined
}

export function createService(first: Plan, parts: ServiceParts): Service {
  const { now, ready } = parts
  const serving = createServing(now, graceSeconds, parts.onServing, reportKilled(parts))
  const { current, handingOver } = serving
  const monitor = createHealthMonitor(now, current, (running) =>
    endInstance(running, graceSeconds, 'unhealthy'),
  )
  const starts = createStarts(first, parts, serving, monitor.watch)
  const alone = createAlone(parts, serving, starts, graceSeconds)

  return {
    acquire() {
      const changing = alone.waiting() ?? handingOver()
      if (changing) return changing.then(() => this.acquire())
      const running = current()
      if (running) return running
      const waiting = ready()
      if (waiting) return waiting.then(() => this.acquire())
      const { id } = starts.plan()
      if (!starts.isWanted()) throw new RpcError('container_failed', `${id} is stopped`)
      const seconds = starts.secondsToWait()
      if (seconds > 0)
        throw new RpcError('busy', `${id} ended by itself and is started again in ${seconds} s`)
      return starts
        .start()
        .then((started) => (current() === started && !handingOver() ? started : this.acquire()))
    },
    async overran(running) {
      if (current() !== running || (await running.instance.responds())) return
      const why = 'it does not react within its time limit (MCM.MAX_EXECUTION_TIME_SEC), and is ended'
      running.plan.log('runtime', why)
      await endInstance(running, 0, 'not_reacting')
    },
    retire: (running) => retire(running, serving, starts),
    discard: alone.discard,
    prepare: async (plan) =>
      (await parts.engine.needsAlone?.(plan)) ? alone.prepare(plan) : startInstance(parts, plan),
    switchTo: (running) =>
      alone.endAfter(() => {
        starts.want()
        return starts.serve(running)
      }),
    ...{ resume: starts.resume, retry: starts.retry },
    async stop(isLast = false) {
      starts.cancel()
      const running = serving.release()
      // An instance that is starting when the runtime stops is stopped with it, or found by the next start.
      const limit = isLast ? [sleep(lastGraceSeconds * 1000)] : []
      await Promise.race([Promise.all([starts.settled(), handingOver()]), ...limit])
      if (running) serving.drain(running, isLast ? lastGraceSeconds : graceSeconds, isLast)
      await serving.drained()
    },
    tick() {
      const running = current()
      const idleSeconds = idleSecondsOf(starts.plan())
      if (
        !running ||
        !isIdle({ requests: running.requests.underWay, lastUsed: running.lastUsed }, idleSeconds, now())
      )
        return monitor.tick()
      serving.release()
      running.plan.log('runtime', `paused: no request for ${idleSeconds} s (MCM.IDLE_SEC)`)
      serving.drain(running, graceSeconds)
      // The next instance may need the files of this one.
      if (running.plan.content.kind === 'oci') alone.waitFor(serving.drained())
    },
    ...{ running: current, startsItself: starts.startsItself },
    health: monitor.health,
    isolation: serving.isolation,
    waiting: starts.secondsToWait,
    lastEnd: starts.lastEnd,
  }
}

const reportKilled =
  ({ report }: Pick<ServiceParts, 'report'>) =>
  ({ why }: Ending): void =>
    report({ event: 'killed', rule: 'a program that is stopped has to exit in its time', detail: why })

function retire(running: Running, serving: Serving, starts: Starts): void {
  if (serving.current() !== running) return
  serving.release()
  serving.drain(running, graceSeconds)
  inBackground('containers.retire', starts.retry())
}
