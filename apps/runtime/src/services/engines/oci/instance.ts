/** A running container, from the moment that the engine has started it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { inBackground } from '@selvedge/service-kit/safely'
import type { Ending, Instance, Plan, TcpUpstream } from '../engine.ts'
import { createLastOutput } from '../last-output.ts'
import * as answers from './answers.ts'
import { type EngineApi, EngineError } from './engine-api.ts'
import { followLogs } from './logs.ts'
import { runInside } from './run-inside.ts'

/** Milliseconds between two checks of a container if the engine does not report its exit: short at first. */
const pollIntervals = { first: 50, last: 1000 }
/** Milliseconds that the engine gets beyond the grace of a container. */
const stopMarginMs = 30_000

/** When the start of a container is complete. */
interface Readiness {
  /** A value of `MCM.READY`. */
  readonly ready: string
  /** The port that it has to listen on, for a message. */
  readonly portInWords: string
  /** It is ready when it listens on one of these ports. They are tried only at the address of the container itself. */
  readonly ports: readonly number[]
}

export interface RunningContainer {
  readonly api: EngineApi
  readonly name: string
  readonly plan: Plan
  readonly upstream: TcpUpstream
  readonly portOf: NonNullable<Instance['portOf']>
  readonly stopSignal: string
  readonly readiness: Readiness
  /** Command that checks its health. */
  readonly healthCommand: readonly string[] | undefined
  readonly isolation: readonly string[]
  /** False for a container that was found running. */
  readonly isNew: boolean
  /** Calls when it wrote more than it may; until what it returns is called. */
  watchDisk(onFull: (bytes: number) => void): () => void
  /** Writes the present values of its secrets into its files; undefined without secrets. @throws RpcError, NodeJS.ErrnoException */
  readonly renewFiles: (() => void) | undefined
  /** Removes the container from the engine. */
  remove(): Promise<void>
  /** Removes everything else that belongs to it. Never throws. */
  release(): Promise<void>
}

export interface OciInstance extends Instance {
  /** @returns what is wrong, with what the container wrote last */
  explain(problem: string): string
  readonly readiness: Readiness
  /** Resolves when it has written a line with the text of `ready`. */
  readonly said: Promise<void>
}

export function followContainer(container: RunningContainer): OciInstance {
  const { api, name, plan, upstream, isolation, healthCommand } = container
  /** Resolves when it has exited, by itself or because it was stopped: whatever is known first. */
  const gone = Promise.withResolvers<ContainerEnding>()
  let isGone = false
  /** Seconds that it has to exit, once it is to. */
  let stopSeconds: number | undefined
  const said = Promise.withResolvers<void>()
  const [, expected] = /^log:(.*)$/s.exec(container.readiness.ready) ?? []
  const output = createLastOutput((stream, text) => {
    plan.log(stream, text)
    if (expected !== undefined && stream !== 'runtime' && text.includes(expected)) said.resolve()
  }, plan.hideSecrets)
  const logs = followLogs(api, name, output.log, container.isNew)
  const unwatch = container.watchDisk((bytes) => {
    const why = fullDisk(plan, bytes)
    plan.log('runtime', `${why}; it is stopped`)
    gone.resolve({ reason: 'disk_full', why })
    const killing = api.send('POST', `/containers/${name}/kill`).catch(() => undefined)
    inBackground('oci.full', killing)
  })
  inBackground('oci.end', awaitEnd(api, name, () => isGone).then(gone.resolve))
  const ended = gone.promise.then(async (found): Promise<Ending> => {
    let ending = found
    isGone = true
    unwatch()
    if (found.isKilled && stopSeconds !== undefined) {
      ending = killed(container.stopSignal, stopSeconds)
      plan.log('runtime', ending.why)
    }
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
    portOf: container.portOf,
    outlivesRuntime: true,
    isolation,
    ended,
    explain: output.explain,
    readiness: container.readiness,
    said: said.promise,
    memory: async () => {
      const path = `/containers/${name}/stats?stream=false&one-shot=true`
      const found = await api.read(path, answers.stats).catch(() => undefined)
      return found?.memory_stats?.usage ?? null
    },
    ...(healthCommand && {
      checkHealth: (timeoutMs: number) => runInside(api, name, healthCommand, timeoutMs),
    }),
    ...(container.renewFiles && { renewSecrets: renewing(container, container.renewFiles) }),
    // A program may answer some requests slowly and others well: only its health path decides.
    responds: async () => true,
    async stop(graceSeconds) {
      const seconds = Math.ceil(graceSeconds)
      if (seconds > 0) {
        stopSeconds = seconds
        await api
          .send('POST', `/containers/${name}/stop?t=${seconds}`, undefined, seconds * 1000 + stopMarginMs)
          .catch(() => undefined)
        const found = await Promise.race([readEnd(api, name), sleep(endMs, undefined, { ref: false })])
        if (found && hasExited(found)) gone.resolve(endingOf(found, stopped))
      }
      gone.resolve(stopped)
      await ended
    },
  }
}

const renewing =
  ({ api, name }: RunningContainer, renewFiles: () => void) =>
  async (signal: string): Promise<void> => {
    renewFiles()
    await api.send('POST', `/containers/${name}/kill?signal=${signal}`)
  }

const megabytes = (bytes: number): number => Math.ceil(bytes / 1024 / 1024)

const fullDisk = ({ settings }: Plan, bytes: number): string =>
  `it has ${megabytes(bytes)} MiB in its root file system and the volumes of its image; the limit is ${settings['MCM.ROOT_MB']} MiB (MCM.ROOT_MB)`

/** How a container exited, and whether by SIGKILL, of the runtime or of another program. */
type ContainerEnding = Ending & { readonly isKilled?: boolean }

const exited = (why: string): ContainerEnding => ({ reason: 'exited', why })
const killed = (signal: string, seconds: number): ContainerEnding => ({
  ...exited(`it did not exit within ${seconds} s of ${signal}, and was killed (MCM.STOP_SEC)`),
  isForced: true,
})

/** Milliseconds for the engine to say how a container that was stopped exited. */
const endMs = 1000

const readEnd = (api: EngineApi, name: string): Promise<answers.Inspected | undefined> =>
  api.read(`/containers/${name}/json`, answers.inspected).catch(() => undefined)

/** Exit code of a program that SIGKILL stopped. */
const killedCode = 137

/** @param usual of a container that nothing killed */
function endingOf({ State }: answers.Inspected, usual?: ContainerEnding): ContainerEnding {
  const { OOMKilled, ExitCode, Error: problem } = State
  if (OOMKilled) return { reason: 'out_of_memory', why: 'it passed its memory limit (MCM.MEMORY_MB)' }
  const ending: ContainerEnding = {
    ...exited(`it ended with exit code ${ExitCode}${problem ? `: ${problem}` : ''}`),
    exitCode: ExitCode,
  }
  if (ExitCode === killedCode) return { ...ending, isKilled: true }
  return usual ?? ending
}

const stopped = exited('it was stopped')

/** While Podman stops a container, that is not running, and still has its process. */
const hasExited = ({ State }: answers.Inspected): boolean => !State.Running && !State.Pid

/**
 * Resolves when a container has exited. An engine that does not answer does not mean that the container exited.
 *
 * It waits for the next exit and reads the state at growing pauses besides: a wait for the state `not-running` makes Podman 4 read the
 * state without a pause, which needs most of a processor for each container.
 */
async function awaitEnd(api: EngineApi, name: string, isGone: () => boolean): Promise<ContainerEnding> {
  let isOver = false
  let wake = (): void => undefined
  const watch = async () => {
    while (!isOver) {
      await awaitExit(api, name)
      wake()
      // An engine that does not wait gets the next request later.
      await sleep(pollIntervals.last, undefined, { ref: false })
    }
  }
  inBackground('oci.exits', watch())
  for (let pause = pollIntervals.first; ; pause = Math.min(pause * 2, pollIntervals.last)) {
    const exit = Promise.withResolvers<void>()
    wake = exit.resolve
    const found = await api
      .read(`/containers/${name}/json`, answers.inspected)
      .catch((cause) => (cause instanceof EngineError && cause.status === 404 ? 'gone' : undefined))
    isOver = found === 'gone' || isGone() || (typeof found === 'object' && hasExited(found))
    if (isOver) return typeof found === 'object' && !isGone() ? endingOf(found) : exited('it was removed')
    await Promise.race([exit.promise, sleep(pause)])
  }
}

/** Resolves at the next exit, or when the engine does not wait any longer: some forget those who wait. */
const awaitExit = (api: EngineApi, name: string): Promise<void> =>
  api.send('POST', `/containers/${name}/wait?condition=next-exit`).catch(() => undefined)
