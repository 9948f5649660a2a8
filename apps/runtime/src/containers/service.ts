/**
 * Keeps one container as it is wanted: starts it when a request comes or at once, pauses it when it is idle, restarts it when
 * it ends by itself, replaces it without a gap. It knows neither tokens nor the document; it passes events to `report`.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { ContainerRecord } from '@selvedge/protocol'
import { RpcError } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { type ConcurrencyLimit, createConcurrencyLimit } from '@selvedge/service-kit/http'
import { inBackground, reportFailure } from '@selvedge/service-kit/safely'
import { shareRun } from '@selvedge/service-kit/share'
import type { Engine, Instance, Plan } from '../engines/engine.ts'
import { isOfDevice } from './device-failure.ts'
import { awaitHealth, probe } from './probe.ts'

/** Seconds between two starts of a container that ends by itself: doubled each time, up to the last. */
const backoff = { first: 1, last: 60 }
/** Ends in a row, each soon after its start, after which a container has failed. */
const maxEnds = 5
/** Milliseconds after which a run counts as successful. */
const goodRun = 60_000
/** Seconds for an instance to finish its requests: after another instance replaced it, and when the runtime ends. */
const grace = 10
const lastGrace = 3
/** Seconds for which requests wait until those before them are answered by the instance that is replaced. */
const patience = 3
const healthInterval = 30_000
const maxBadHealth = 3
const defaultIdle = { function: 300, oci: 0 } as const

export interface Running {
  readonly plan: Plan
  readonly instance: Instance
  /** Resolves with the reason in words when the instance has ended. Never rejects. */
  readonly ended: Promise<string>
  /** Unix milliseconds. */
  readonly since: number
  /** On the clock that only goes forward. */
  readonly startedAt: number
  /** Requests that it was given and that are not over. */
  requests: number
  /** Those of them whose answer has not begun. */
  unanswered: number
  /** How many of them may wait for the beginning of their answer. */
  readonly limit: ConcurrencyLimit
  lastUsed: number
}

/** What happened, for the history: by which rule, and whether the container has failed for good. */
export interface Happening {
  readonly event: string
  readonly rule: string
  readonly detail: string
  readonly failed?: true
  readonly restart?: true
}

export interface ServiceParts {
  readonly engine: Engine
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly clock: Clock
  /** Resolves when the leftovers of an earlier run are recovered; undefined from then on. Nothing starts before. */
  readonly ready: () => Promise<void> | undefined
  readonly report: (happening: Happening) => void
}

export interface Service {
  /** The instance for a request; starts one where none runs. @throws RpcError `container_failed`, `engine_unavailable`, `busy` */
  acquire(): Running | Promise<Running>
  /** Called when a request exceeded its time limit: a program that does not react any more is ended. */
  overran(running: Running): Promise<void>
  /** Starts an instance of another plan and checks it, beside the one that runs. @throws RpcError `container_failed` */
  prepare(plan: Plan): Promise<Running>
  /** Ends a prepared instance that is not taken. */
  discard(running: Running): Promise<void>
  /**
   * Sends requests to a prepared instance from now on, and ends the one before when it has answered. Resolves once the prepared one
   * has the storage of the container; requests wait until then. Never rejects.
   */
  switchTo(running: Running): Promise<void>
  /** Continues after a restart of the runtime: containers that are never idle start at once, others with their first request. */
  resume(): void
  /** Ends it. @param isLast whether the runtime ends, too, and has not long */
  stop(isLast?: boolean): Promise<void>
  /** Called every second: pauses an idle instance, checks its health. */
  tick(): void
  running(): Running | undefined
  health(): ContainerRecord['health']
  isolation(): readonly string[]
  /** Seconds until the next start after an end by itself; 0 where it may start now. */
  waiting(): number
}

export function createService(first: Plan, { engine, now, clock, ready, report }: ServiceParts): Service {
  let plan = first
  let current: Running | undefined
  /** Resolves when the instance that serves has the storage of the container. */
  let handingOver: Promise<void> | undefined
  let isWanted = false
  let mayAdopt = false
  let ends = 0
  let deviceFailures = 0
  let notBefore = 0
  let timer: NodeJS.Timeout | undefined
  let health: ContainerRecord['health'] = 'unknown'
  let badHealth = 0
  let lastProbe = 0
  let isolation: readonly string[] = []
  const draining = new Set<Promise<void>>()

  const idleSeconds = () => plan.settings['MCM.IDLE_SEC'] ?? defaultIdle[plan.content.kind]

  async function bringUp(next: Plan): Promise<Running> {
    const running = runningOf(next, await engine.start(next))
    try {
      await expectHealthy(running)
    } catch (cause) {
      await end(running, 0)
      throw cause
    }
    return running
  }

  const runningOf = (own: Plan, instance: Instance): Running => ({
    plan: own,
    instance,
    ended: instance.ended.catch((cause: unknown) => {
      reportFailure('containers.ended', cause)
      return 'how it ended is not known'
    }),
    since: clock.now(),
    startedAt: now(),
    requests: 0,
    unanswered: 0,
    limit: createConcurrencyLimit(now),
    lastUsed: now(),
  })

  /** Ends an instance. An engine that fails at it is reported: nothing else can be done. */
  const end = ({ instance }: Running, graceSeconds: number): Promise<void> =>
    instance.stop(graceSeconds).catch((cause: unknown) => reportFailure('containers.stop', cause))

  async function expectHealthy({ plan: { settings }, instance, ended }: Running): Promise<void> {
    const path = settings['MCM.HEALTH_PATH']
    if (path === undefined) return
    const problem = await awaitHealth(instance.upstream, path, settings['MCM.HEALTH_SEC'], ended)
    if (problem !== undefined) throw new RpcError('container_failed', `it is not healthy: ${problem}`)
  }

  function install(running: Running): void {
    current = running
    plan = running.plan
    isolation = running.instance.isolation
    health = plan.settings['MCM.HEALTH_PATH'] === undefined ? 'unknown' : 'healthy'
    badHealth = 0
    lastProbe = now()
    const forget = (why: string) => {
      if (current !== running) return
      current = undefined
      health = 'unknown'
      if (isWanted) onEnded(why, now() - running.startedAt)
    }
    inBackground('containers.ended', running.ended.then(forget))
  }

  /**
   * Makes an instance the one that serves. Where there is storage, requests wait until those of the instance before are answered, so
   * that no request reads what another one is about to change.
   */
  function serve(running: Running): Promise<void> {
    const before = current
    install(running)
    const { takeOver } = running.instance
    if (!takeOver) {
      if (before) drain(before)
      return Promise.resolve()
    }
    const handOver = async () => {
      if (before) await until(() => before.unanswered === 0, now() + patience * 1000)
      await takeOver().catch((cause: unknown) => reportFailure('containers.takeOver', cause))
      if (handingOver === mine) handingOver = undefined
      if (before) drain(before)
    }
    const mine = handOver()
    handingOver = mine
    return mine
  }

  async function until(isDone: () => boolean, deadline: number): Promise<void> {
    while (!isDone() && now() < deadline) await sleep(5)
  }

  function onEnded(why: string, ranFor: number): void {
    plan.log('runtime', `ended: ${why}`)
    if (ranFor > goodRun) ends = 0
    ends++
    if (ends > maxEnds) {
      isWanted = false
      report({
        event: 'failed',
        rule: `it ended ${ends} times, each within ${goodRun / 1000} s of its start`,
        detail: why,
        failed: true,
      })
      return
    }
    const seconds = ends === 1 ? 0 : Math.min(backoff.first * 2 ** (ends - 2), backoff.last)
    notBefore = now() + seconds * 1000
    const onRequest = idleSeconds() > 0
    report({
      event: 'restarted',
      rule: onRequest
        ? `it ended by itself; the next request starts it, in ${seconds} s at the earliest`
        : `it ended by itself; it is started again in ${seconds} s`,
      detail: why,
      restart: true,
    })
    if (!onRequest) startIn(seconds)
  }

  /** A start that failed for a reason of the device is tried again with growing pauses, and never given up. */
  function onDeviceFailure(cause: Error): void {
    deviceFailures++
    const seconds = Math.min(backoff.first * 2 ** (deviceFailures - 1), backoff.last)
    notBefore = now() + seconds * 1000
    plan.log('runtime', `it could not be started: ${cause.message}; it is tried again in ${seconds} s`)
    if (deviceFailures === 1)
      report({
        event: 'postponed',
        rule: 'it could not be started for a reason of the device; it is tried again',
        detail: cause.message,
      })
    if (idleSeconds() === 0) startIn(seconds)
  }

  function startIn(seconds: number): void {
    timer = setTimeout(() => start().catch(() => undefined), seconds * 1000)
    timer.unref()
  }

  /** What an earlier run of the runtime left running, or a new instance. */
  async function adopt(): Promise<Running> {
    mayAdopt = false
    const left = await engine.adopt(plan).catch(() => undefined)
    return left ? runningOf(plan, left) : bringUp(plan)
  }

  const start = shareRun(() =>
    (mayAdopt ? adopt() : bringUp(plan))
      .then(async (running) => {
        if (current || !isWanted) {
          await end(running, 0)
          if (current) return current
          throw new RpcError('container_failed', `${plan.id} was stopped while it started`)
        }
        await serve(running)
        deviceFailures = 0
        return running
      })
      .catch((cause: Error) => {
        if (isWanted && !isOfDevice(cause)) onEnded(cause.message, 0)
        else if (isWanted) onDeviceFailure(cause)
        throw cause
      }),
  )

  async function checkHealth(running: Running, path: string): Promise<void> {
    const problem = await probe(running.instance.upstream, path, 5000)
    if (current !== running) return
    health = problem === undefined ? 'healthy' : 'unhealthy'
    badHealth = problem === undefined ? 0 : badHealth + 1
    if (badHealth < maxBadHealth) return
    plan.log('runtime', `it was not healthy ${maxBadHealth} times in a row, and is ended: ${problem}`)
    await end(running, grace)
  }

  function drain(running: Running, seconds = grace): void {
    const endIdle = async () => {
      const deadline = now() + seconds * 1000
      await until(() => running.requests === 0, deadline)
      await end(running, Math.max(1, (deadline - now()) / 1000))
      draining.delete(done)
    }
    const done = endIdle()
    draining.add(done)
  }

  return {
    acquire() {
      if (handingOver) return handingOver.then(() => this.acquire())
      if (current) return current
      const waiting = ready()
      if (waiting) return waiting.then(() => this.acquire())
      if (!isWanted) throw new RpcError('container_failed', `${plan.id} is stopped`)
      if (now() < notBefore)
        throw new RpcError('busy', `${plan.id} ended by itself and is started again in ${this.waiting()} s`)
      return start().then((running) => (current === running && !handingOver ? running : this.acquire()))
    },
    async overran(running) {
      if (current !== running || (await running.instance.responds())) return
      plan.log(
        'runtime',
        'it does not react within its time limit (MCM.MAX_EXECUTION_TIME_SEC), and is ended',
      )
      await end(running, 0)
    },
    discard: (running) => end(running, 0),
    prepare: bringUp,
    switchTo(running) {
      clearTimeout(timer)
      isWanted = true
      ends = 0
      notBefore = 0
      return serve(running)
    },
    resume() {
      if (isWanted) return
      isWanted = true
      ends = 0
      notBefore = 0
      mayAdopt = plan.content.kind === 'oci'
      if (mayAdopt || idleSeconds() === 0) start().catch(() => undefined)
    },
    async stop(isLast = false) {
      isWanted = false
      clearTimeout(timer)
      const running = current
      current = undefined
      health = 'unknown'
      // What is about to start when the runtime ends is ended with it, or found by the next start.
      const limit = isLast ? [sleep(lastGrace * 1000)] : []
      const changing = Promise.all([start.present()?.catch(() => undefined), handingOver])
      await Promise.race([changing, ...limit])
      if (running) drain(running, isLast ? lastGrace : grace)
      await Promise.all(draining)
    },
    tick() {
      if (!current) return
      const running = current
      const idle = idleSeconds()
      if (idle > 0 && running.requests === 0 && now() - running.lastUsed > idle * 1000) {
        current = undefined
        health = 'unknown'
        plan.log('runtime', `paused: no request for ${idle} s (MCM.IDLE_SEC)`)
        return drain(running)
      }
      const path = plan.settings['MCM.HEALTH_PATH']
      if (path === undefined || now() - lastProbe < healthInterval) return
      lastProbe = now()
      inBackground('containers.health', checkHealth(running, path))
    },
    running: () => current,
    health: () => health,
    isolation: () => isolation,
    waiting: () => Math.max(0, Math.ceil((notBefore - now()) / 1000)),
  }
}
