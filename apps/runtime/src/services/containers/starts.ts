/** Starts the instance of a container while it is wanted: on a request, at once, and again after it exited. */
import { RpcError } from '@selvedge/protocol'
import { shareRun } from '@selvedge/service-kit/share'
import type { Ending, Plan } from '../engines/engine.ts'
import { isOfDevice } from './device-failure.ts'
import { idleSecondsOf } from './idle-policy.ts'
import { adoptInstance, endInstance, type InstanceParts, type Running, startInstance } from './instances.ts'
import { createRestarts, type Happening, type Restarts } from './restarts.ts'
import type { Serving } from './serving.ts'

export interface StartParts extends InstanceParts {
  readonly report: (happening: Happening) => void
}

export interface Starts {
  /** The plan of the last instance that served; before the first one, the plan of the next start. */
  plan(): Plan
  /** Whether an instance may start. False after `cancel`, and when the container was given up. */
  isWanted(): boolean
  /** From now on the container is wanted: earlier ends do not count any more. Starts nothing. */
  want(): void
  /** Starts the container again after a restart of the runtime, unless it waits for its first request. */
  resume(): void
  /** From now on nothing starts. An instance that is starting is stopped after its start. */
  cancel(): void
  /** Starts an instance, or joins the start that is under way. @throws what the engine throws, RpcError `container_failed` */
  start(): Promise<Running>
  /** Starts it now if it is wanted, does not run, and does not wait for a request; after a start that is under way. Never rejects. */
  retry(): Promise<void>
  /** Whether an instance starts now, or without a request. */
  startsItself(): boolean
  /** Resolves when no start is under way. Never rejects. */
  settled(): Promise<void>
  /** Makes an instance the one that serves. Never rejects. */
  serve(running: Running): Promise<void>
  /** Seconds until a start is allowed; 0 if it is allowed now. */
  secondsToWait(): number
  lastEnd: Restarts['lastEnd']
}

/** @param watch called with each instance that starts to serve */
export function createStarts(
  first: Plan,
  parts: StartParts,
  serving: Serving,
  watch: (running: Running) => void,
): Starts {
  const { now } = parts
  const restarts = createRestarts(now, parts.report)
  let plan = first
  let isWanted = false
  let mayAdopt = false
  let timer: NodeJS.Timeout | undefined

  function serve(running: Running): Promise<void> {
    plan = running.plan
    watch(running)
    return serving.serve(running, ({ startedAt, endedFor }, { why, reason }) => {
      if (isWanted) onEnded({ why, reason: endedFor ?? reason }, now() - startedAt)
    })
  }

  function onEnded(ending: Ending, ranForMs: number): void {
    const seconds = restarts.ended(plan, ending, ranForMs)
    if (seconds === undefined) isWanted = false
    else startIn(seconds)
  }

  /** A container that may be idle starts with its next request instead. */
  function startIn(seconds: number): void {
    if (idleSecondsOf(plan) > 0) return
    timer = setTimeout(() => start().catch(() => undefined), seconds * 1000)
    timer.unref()
  }

  /** What an earlier run of the runtime left running, or a new instance. */
  async function adopt(): Promise<Running> {
    mayAdopt = false
    return (await adoptInstance(parts, plan)) ?? startInstance(parts, plan)
  }

  async function serveStarted(running: Running): Promise<Running> {
    if (serving.current() || !isWanted) {
      await endInstance(running, 0)
      const serves = serving.current()
      if (serves) return serves
      throw new RpcError('container_failed', `${plan.id} was stopped while it started`)
    }
    await serve(running)
    restarts.started()
    return running
  }

  const start = shareRun(() =>
    (mayAdopt ? adopt() : startInstance(parts, plan)).then(serveStarted).catch((cause: Error) => {
      if (isWanted && !isOfDevice(cause)) onEnded({ why: cause.message, reason: 'not_started' }, 0)
      else if (isWanted) startIn(restarts.postponed(plan, cause))
      throw cause
    }),
  )

  function want(): void {
    clearTimeout(timer)
    isWanted = true
    restarts.requested()
  }

  return {
    plan: () => plan,
    isWanted: () => isWanted,
    want,
    resume() {
      if (isWanted) return
      want()
      mayAdopt = plan.content.kind === 'oci'
      if (mayAdopt || idleSecondsOf(plan) === 0) start().catch(() => undefined)
    },
    cancel() {
      isWanted = false
      clearTimeout(timer)
    },
    start,
    async retry() {
      await start.present()?.catch(() => undefined)
      if (!isWanted || serving.current() || start.present()) return
      clearTimeout(timer)
      restarts.requested()
      if (idleSecondsOf(plan) === 0) start().catch(() => undefined)
    },
    async settled() {
      await start.present()?.catch(() => undefined)
    },
    startsItself: () => start.present() !== undefined || idleSecondsOf(plan) === 0,
    serve,
    secondsToWait: restarts.secondsToWait,
    lastEnd: restarts.lastEnd,
  }
}
