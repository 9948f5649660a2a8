/** Programs that pull an image: the runtime, and Podman with its defaults. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { findProgram } from '../../harness/installed.ts'
import { type Podman, startPodman } from '../../harness/podman.ts'
import { type Services, startServices } from '../../harness/services.ts'

/** One pull that is under way. */
interface Pull {
  /** Resolves with the error when the pull is complete: undefined if the image is there. */
  readonly complete: Promise<string | undefined>
  /** Ends the program as a crash does, and pulls again as its users would. */
  kill(): Promise<Pull>
  /** Ends it because it lasts too long. */
  stop(): Promise<void>
}

export interface Puller {
  readonly name: string
  begin(reference: string): Pull
  /** Removes all images. */
  clear(): Promise<void>
  stop(): Promise<void>
}

export async function startRuntimePuller(): Promise<Puller> {
  const services = await startServices({ args: [] })
  const edgeAccessToken = services.token
  const list = () => services.runtime().getImages({ edgeAccessToken })
  const begin = (reference: string): Pull => {
    const complete = services
      .runtime()
      .deployImage({ edgeAccessToken, source: reference })
      .then(
        () => undefined,
        (cause: Error) => cause.message,
      )
    return { complete, kill: () => killRuntime(services), stop: () => services.restart('SIGKILL') }
  }
  return {
    name: 'Selvedge',
    begin,
    async clear() {
      for (const { id } of await list()) await services.runtime().removeImage({ edgeAccessToken, id })
    },
    stop: () => services.stop(),
  }
}

/** After a restart the pull continues by itself: the image appears. */
async function killRuntime(services: Services): Promise<Pull> {
  await services.restart('SIGKILL')
  const abort = new AbortController()
  const isThere = () =>
    services
      .runtime()
      .getImages({ edgeAccessToken: services.token })
      .then(
        ({ length }) => length > 0,
        () => false,
      )
  const appears = async () => {
    while (!abort.signal.aborted && !(await isThere())) await sleep(100)
    return undefined
  }
  return {
    complete: appears(),
    kill() {
      abort.abort()
      return killRuntime(services)
    },
    stop: async () => abort.abort(),
  }
}

export async function startPodmanPuller(): Promise<Puller> {
  const podman = await startPodman()
  return {
    name: `Podman ${podman.run('version', '--format', '{{.Client.Version}}').trim()}`,
    begin: (reference) => pullWithPodman(podman, reference),
    clear: async () => void podman.run('rmi', '--all', '--force'),
    stop: () => podman.stop(),
  }
}

function pullWithPodman(podman: Podman, reference: string): Pull {
  const child = spawn(findProgram('podman')!, ['pull', '--quiet', '--tls-verify=false', reference], {
    // A pull that is killed leaves its files.
    env: { ...podman.env, TMPDIR: podman.folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'exit')
  const complete = child.stderr.toArray().then(async (chunks) => {
    const [code] = await exited
    return code === 0 ? undefined : Buffer.concat(chunks).toString().trim().split('\n').at(-1)
  })
  const stop = async () => {
    child.kill('SIGKILL')
    await complete
  }
  return {
    complete,
    stop,
    async kill() {
      await stop()
      return pullWithPodman(podman, reference)
    },
  }
}
