/** A running container, from the moment that the engine has started it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { inBackground } from '@selvedge/service-kit/safely'
import type { Ending, Instance, Plan, TcpUpstream } from '../engine.ts'
import { createLastOutput } from '../last-output.ts'
import * as answers from './answers.ts'
import { type EngineApi, EngineError } from './engine-api.ts'
import { followLogs } from './logs.ts'

/** Milliseconds between two checks of a container if the engine does not report its exit: short at first. */
const pollIntervals = { first: 50, last: 1000 }
/** Milliseconds that the engine gets beyond the grace of a container. */
const stopMarginMs = 30_000

export interface RunningContainer {
  readonly api: EngineApi
  readonly name: string
  readonly plan: Plan
  readonly upstream: TcpUpstream
  readonly isolation: readonly string[]
  /** False for a container that was found running. */
  readonly isNew: boolean
  /** Calls when it wrote more than it may; until what it returns is called. */
  watchDisk(onFull: (bytes: number) => void): () => void
  /** Removes the container from the engine. */
  remove(): Promise<void>
  /** Removes everything else that belongs to it. Never throws. */
  release(): Promise<void>
}

export interface OciInstance extends Instance {
  /** @returns what is wrong, with what the container wrote last */
  explain(problem: string): string
}

export function followContainer(container: RunningContainer): OciInstance {
  const { api, name, plan, upstream, isolation } = container
  /** Resolves when it has exited, by itself or because it was stopped: whatever is known first. */
  const gone = Promise.withResolvers<Ending>()
  let isGone = false
  const output = createLastOutput(plan.log)
  const logs = followLogs(api, name, output.log, container.isNew)
  const unwatch = container.watchDisk((bytes) => {
    const why = fullDisk(plan, bytes)
    plan.log('runtime', `${why}; it is stopped`)
    gone.resolve({ reason: 'disk_full', why })
    const killing = api.send('POST', `/containers/${name}/kill`).catch(() => undefined)
    inBackground('oci.full', killing)
  })
  inBackground('oci.end', awaitEnd(api, name, () => isGone).then(gone.resolve))
  const ended = gone.promise.then(async (ending) => {
    isGone = true
    unwatch()
    await logs.finish(ending !== stopped)
    // What can't be removed now is removed by the next start of the runtime.
    await container.remove().catch((cause: Error) => {
      plan.log('runtime', `the engine did not remove it: ${cause.message}`)
    })
    await container.release()
    return ending === stopped ? ending : { ...ending, why: output.explain(ending.why) }
  })
  return {
    upstream,
    outlivesRuntime: true,
    isolation,
    ended,
    explain: output.explain,
    memory: async () => {
      const path = `/containers/${name}/stats?stream=false&one-shot=true`
      const found = await api.read(path, answers.stats).catch(() => undefined)
      return found?.memory_stats?.usage ?? null
    },
    // A program may answer some requests slowly and others well: only its health path decides.
    responds: async () => true,
    async stop(graceSeconds) {
      const seconds = Math.ceil(graceSeconds)
      if (seconds > 0)
        await api
          .send('POST', `/containers/${name}/stop?t=${seconds}`, undefined, seconds * 1000 + stopMarginMs)
          .catch(() => undefined)
      gone.resolve(stopped)
      await ended
    },
  }
}

const megabytes = (bytes: number): number => Math.ceil(bytes / 1024 / 1024)

const fullDisk = ({ settings }: Plan, bytes: number): string =>
  `it has ${megabytes(bytes)} MiB in its root file system and the volumes of its image; the limit is ${settings['MCM.ROOT_MB']} MiB (MCM.ROOT_MB)`

const exited = (why: string): Ending => ({ reason: 'exited', why })
const stopped = exited('it was stopped')

/** Resolves when a container has exited. An engine that does not answer does not mean that the container exited. */
async function awaitEnd(api: EngineApi, name: string, isGone: () => boolean): Promise<Ending> {
  for (let pause = pollIntervals.first; ; pause = Math.min(pause * 2, pollIntervals.last)) {
    // Some engines forget those who wait: each wait has its time.
    await api.send('POST', `/containers/${name}/wait`).catch(() => undefined)
    const found = await api
      .read(`/containers/${name}/json`, answers.inspected)
      .catch((cause) => (cause instanceof EngineError && cause.status === 404 ? 'gone' : undefined))
    if (found === 'gone' || isGone()) return exited('it was removed')
    if (typeof found === 'object' && !found.State.Running) {
      const { OOMKilled, ExitCode, Error: problem } = found.State
      return OOMKilled
        ? { reason: 'out_of_memory', why: 'it passed its memory limit (MCM.MEMORY_MB)' }
        : exited(`it ended with exit code ${ExitCode}${problem ? `: ${problem}` : ''}`)
    }
    await sleep(pause)
  }
}
