/** Starts instances of a container, checks them, and ends them. Which one serves is the responsibility of `serving.ts`. */
import { type EndReason, RpcError } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { reportFailure } from '@selvedge/service-kit/safely'
import {
  createLimitedWork,
  createWorkCount,
  type LimitedWork,
  type WorkCount,
} from '@selvedge/service-kit/work'
import type { ContentInUse } from '../deployments/content-in-use.ts'
import type { Ending, Engine, Instance, Plan } from '../engines/engine.ts'
import { speaksHttp2 } from '../engines/speaks-http2.ts'
import { awaitGrpc } from './grpc-health.ts'
import { awaitCommand, awaitHealth, awaitHttp, probeOf } from './probe.ts'

export interface Running {
  readonly plan: Plan
  readonly instance: Instance
  /** Resolves when the instance has exited. Never rejects. */
  readonly ended: Promise<Ending>
  /** Why the runtime stopped it, where it did. */
  endedFor?: EndReason
  /** Unix milliseconds. */
  readonly since: number
  /** On the clock that only goes forward. */
  readonly startedAt: number
  /** Requests that it was given and that are not over. */
  readonly requests: WorkCount
  /** Those of them whose answer has not begun, and how many may wait for it. */
  readonly unanswered: LimitedWork
  lastUsed: number
}

export interface InstanceParts {
  readonly engine: Engine
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly clock: Clock
  /** Does work with the content of an image, which stays on the disk until the work is complete. */
  readonly hold: ContentInUse['hold']
}

/** Starts an instance and waits until it is healthy. @throws RpcError `container_failed`, and what the engine throws */
export const startInstance = (parts: InstanceParts, plan: Plan): Promise<Running> =>
  parts.hold([plan.content], async () => {
    plan.expectAllowed?.()
    const running = runningOf(parts, plan, await parts.engine.start(plan))
    try {
      expectScheduled(running)
      await expectHealthy(running)
    } catch (cause) {
      await endInstance(running, 0)
      throw cause
    }
    return running
  })

/** The instance that an earlier run of the runtime left running, if there is one. Never rejects. */
export async function adoptInstance(parts: InstanceParts, plan: Plan): Promise<Running | undefined> {
  const left = await parts.hold([plan.content], () => parts.engine.adopt(plan)).catch(() => undefined)
  return left && runningOf(parts, plan, left)
}

/** Ends an instance. An engine that fails at it is reported: nothing else can be done. */
export function endInstance(running: Running, graceSeconds: number, reason?: EndReason): Promise<void> {
  if (reason) running.endedFor = reason
  return running.instance
    .stop(graceSeconds)
    .catch((cause: unknown) => reportFailure('containers.stop', cause))
}

const runningOf = ({ now, clock }: InstanceParts, plan: Plan, instance: Instance): Running => ({
  plan,
  instance,
  ended: instance.ended.catch((cause: unknown): Ending => {
    reportFailure('containers.ended', cause)
    return { reason: 'exited', why: 'how it ended is not known' }
  }),
  since: clock.now(),
  startedAt: now(),
  requests: createWorkCount(),
  unanswered: createLimitedWork({ now }),
  lastUsed: now(),
})

/** Times without a handler for them are a mistake that should be seen when it is deployed. */
function expectScheduled({ plan, instance }: Running): void {
  if (plan.settings['MCM.CRON'].length > 0 && plan.content.kind !== 'oci' && !instance.runScheduled)
    throw new RpcError(
      'container_failed',
      'MCM.CRON is set, and its code has no handler for "scheduled": export default { scheduled(event, env, ctx) { … } }, or mimikModule.scheduled',
    )
}

async function expectHealthy(running: Running): Promise<void> {
  const { instance, ended } = running
  const { settings } = running.plan
  const probe = probeOf(speaksHttp2(running))
  const { 'MCM.HEALTH_PATH': path, 'MCM.HEALTH_SEC': seconds, 'MCM.READY': ready } = settings
  const problem =
    path !== undefined
      ? await awaitHealth(probe, instance.upstream, path, seconds, ended)
      : ((ready === 'http' ? await awaitHttp(probe, instance.upstream, seconds, ended) : undefined) ??
        (ready === 'grpc' ? await awaitGrpc(instance.upstream, seconds, ended) : undefined) ??
        (await awaitCommand(instance, seconds, ended)))
  if (problem !== undefined) throw new RpcError('container_failed', `it is not healthy: ${problem}`)
}
