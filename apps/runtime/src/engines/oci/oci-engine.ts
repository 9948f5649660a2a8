/** Runs images with a root file system through the Docker Engine API of Podman, Docker or balenaEngine. */
import { chmodSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import type { Content } from '../../deployments/deployments.ts'
import type { Blobs } from '../../images/blobs.ts'
import type { Engine, Instance, Plan } from '../engine.ts'
import { awaitPort } from './await-port.ts'
import { createBody, labels, portOf, shortHash, volumesOf } from './create-body.ts'
import { type EngineApi, EngineError, findEngine } from './engine-api.ts'
import { createFrameReader } from './log-frames.ts'
import { saveStream } from './save-stream.ts'

export interface OciEngineParts {
  /** State folder of the runtime; two runtimes with one engine keep apart by it. */
  readonly state: string
  /** Socket of the engine; empty: the first that is found. */
  readonly socket: string
  readonly blobs: Blobs
}

interface Inspected {
  readonly State: {
    readonly Running: boolean
    readonly ExitCode: number
    readonly OOMKilled: boolean
    readonly Error?: string
  }
  readonly NetworkSettings: { readonly Ports: Record<string, { HostPort: string }[] | null> }
}

interface Listed {
  readonly Id: string
  readonly Labels: Record<string, string>
  readonly State: string
}

/** The layers that every container of this engine is given. */
const layers = ['namespaces', 'read-only root', 'no capabilities', 'no new privileges', 'cgroup']
/** Milliseconds between two looks at a container whose end the engine does not tell: short at first. */
const pollIntervals = { first: 50, last: 1000 }

export function createOciEngine({ state, socket, blobs }: OciEngineParts): Engine {
  const owner = shortHash(state)
  const folder = join(tmpdir(), `selvedge-${owner}-oci`)
  const repository = `localhost/selvedge-${owner}`
  const tagOf = (digest: string) => `${repository}/${digest.slice(7, 39)}:latest`
  /** Tags of images that are to go when nothing runs on them any more. */
  const unwanted = new Set<string>()
  const nameOf = ({ id, revision }: Plan) => `selvedge-${owner}-${shortHash(id)}-r${revision}`
  const filter = (label: string, value: string) =>
    encodeURIComponent(JSON.stringify({ label: [`${label}=${value}`] }))
  const listed = (api: EngineApi) =>
    api.call<Listed[]>('GET', `/containers/json?all=true&filters=${filter(labels.owner, owner)}`)
  const removeContainer = (api: EngineApi, name: string) =>
    api.call('DELETE', `/containers/${name}?force=true`).catch(ignoreMissing)

  /** By itself an engine refuses while something runs on an image; forced, it would end what runs. */
  async function removeUnwanted(api: EngineApi): Promise<void> {
    for (const tag of unwanted) {
      const isGone = await api.call('DELETE', `/images/${encodeURIComponent(tag)}`).then(
        () => true,
        (cause) => cause instanceof EngineError && cause.status === 404,
      )
      if (isGone) unwanted.delete(tag)
    }
  }

  async function load(api: EngineApi, content: Content): Promise<string> {
    const tag = tagOf(content.config.digest)
    unwanted.delete(tag)
    const isThere = await api.call('GET', `/images/${encodeURIComponent(tag)}/json`).then(
      () => true,
      (cause) => ignoreMissing(cause) ?? false,
    )
    if (!isThere) {
      const answer = await api.stream('POST', '/images/load?quiet=true', saveStream(blobs, content, tag))
      let text = ''
      for await (const chunk of answer) text += chunk
      if (/"error"/.test(text)) throw new EngineError(500, text.slice(0, 500))
    }
    return tag
  }

  /** The folder with the instance's socket; it stays the same for an adopted one. */
  function folderOf(plan: Plan): string {
    mkdirSync(folder, { recursive: true, mode: 0o711 })
    if (!lstatSync(folder).isDirectory() || lstatSync(folder).uid !== process.getuid?.())
      throw new RpcError('engine_unavailable', `${folder} is not of this user; remove it`)
    const own = join(folder, `${shortHash(plan.id)}-${plan.revision}`)
    mkdirSync(own, { recursive: true })
    chmodSync(own, 0o755)
    return own
  }

  async function follow(api: EngineApi, name: string, plan: Plan, own: string): Promise<Instance> {
    const listener = await plan.host.serve(join(own, 'host'), plan)
    const port = await portOf(plan, blobs)
    const { NetworkSettings } = await api.call<Inspected>('GET', `/containers/${name}/json`)
    const published = Number(NetworkSettings.Ports[`${port}/tcp`]?.[0]?.HostPort)
    /** Kept when it has ended, by itself or because it was stopped: whatever is known first. */
    const gone = Promise.withResolvers<string>()
    let isGone = false
    const readFrames = createFrameReader(plan.log)
    api
      .stream('GET', `/containers/${name}/logs?follow=true&stdout=true&stderr=true`)
      .then((logs) => logs.on('data', readFrames).on('error', () => undefined))
      .catch(() => undefined)
    void awaitEnd(api, name, () => isGone).then(gone.resolve)
    const ended = gone.promise.then(async (why) => {
      isGone = true
      await removeContainer(api, name).catch(() => undefined)
      await removeUnwanted(api).catch(() => undefined)
      await listener.close()
      rmSync(own, { recursive: true, force: true })
      return why
    })
    return {
      upstream: { host: '127.0.0.1', port: published },
      isolation: layers,
      ended,
      memory: async () => {
        const stats = api.call<{ memory_stats?: { usage?: number } }>(
          'GET',
          `/containers/${name}/stats?stream=false&one-shot=true`,
        )
        const { memory_stats } = await stats.catch(() => ({ memory_stats: undefined }))
        return memory_stats?.usage ?? null
      },
      // A program of its own may answer some requests slowly and others well: only its health path tells.
      responds: async () => true,
      async stop(graceSeconds) {
        if (graceSeconds > 0)
          await api
            .call('POST', `/containers/${name}/stop?t=${Math.ceil(graceSeconds)}`)
            .catch(() => undefined)
        // What can't be removed now is removed by the next start of the runtime.
        await removeContainer(api, name).catch((cause: Error) =>
          plan.log('runtime', `the engine did not remove it: ${cause.message}`),
        )
        gone.resolve('it was stopped')
        await ended
      },
    }
  }

  return {
    async start(plan) {
      const api = findEngine(socket)
      const name = nameOf(plan)
      try {
        const image = await load(api, plan.content)
        const own = folderOf(plan)
        await removeContainer(api, name)
        for (const volume of volumesOf(plan, owner)) {
          const volumeLabels = { [labels.owner]: owner, [labels.container]: plan.id }
          await api.call('POST', '/volumes/create', { Name: volume.name, Labels: volumeLabels })
        }
        const body = createBody(plan, owner, image, await portOf(plan, blobs), own)
        await api.call('POST', `/containers/create?name=${name}`, body)
        await api.call('POST', `/containers/${name}/start`)
        const instance = await follow(api, name, plan, own)
        const { port, host } = instance.upstream as { port: number; host: string }
        const problem = await awaitPort(host, port, plan.settings['MCM.HEALTH_SEC'], instance.ended)
        if (problem === undefined) return instance
        await instance.stop(0)
        throw new RpcError('container_failed', problem)
      } catch (cause) {
        if (cause instanceof EngineError) {
          await removeContainer(api, name).catch(() => undefined)
          throw new RpcError('container_failed', `the engine refused it: ${cause.message}`, { cause })
        }
        throw cause
      }
    },
    async adopt(plan) {
      const api = findEngine(socket)
      const name = nameOf(plan)
      const found = await api.call<Inspected>('GET', `/containers/${name}/json`).catch(ignoreMissing)
      if (!found?.State.Running) return undefined
      plan.log('runtime', 'it went on while the runtime was away')
      return follow(api, name, plan, folderOf(plan))
    },
    async recover(running, digests) {
      const api = findEngine(socket)
      for (const { Id, Labels, State } of await listed(api)) {
        const id = Labels[labels.container] ?? ''
        const isWanted = State === 'running' && String(running.get(id)) === Labels[labels.revision]
        if (!isWanted) await removeContainer(api, Id)
      }
      const tags = new Set([...digests].map(tagOf))
      const images = await api.call<{ RepoTags: string[] | null }[]>(
        'GET',
        `/images/json?filters=${encodeURIComponent(JSON.stringify({ reference: [`${repository}/*`] }))}`,
      )
      for (const tag of images.flatMap(({ RepoTags }) => RepoTags ?? []))
        if (tag.startsWith(`${repository}/`) && !tags.has(tag)) unwanted.add(tag)
      await removeUnwanted(api)
    },
    async removeData(id) {
      const api = findEngine(socket)
      const { Volumes } = await api.call<{ Volumes: { Name: string }[] | null }>(
        'GET',
        `/volumes?filters=${filter(labels.container, id)}`,
      )
      for (const { Name } of Volumes ?? [])
        if (Name.startsWith(`selvedge-${owner}-`))
          await api.call('DELETE', `/volumes/${Name}?force=true`).catch(ignoreMissing)
    },
    async removeImage(digest) {
      unwanted.add(tagOf(digest))
      await removeUnwanted(findEngine(socket))
    },
    async close() {
      rmSync(folder, { recursive: true, force: true })
    },
    async describe() {
      try {
        const api = findEngine(socket)
        const info = await api.call<{ Name?: string; ServerVersion?: string; OperatingSystem?: string }>(
          'GET',
          '/info',
        )
        return {
          available: true,
          detail: `${api.socketPath}, version ${info.ServerVersion}`,
          isolation: layers,
          hints: [],
        }
      } catch (cause) {
        const { message, hint = '' } = cause as RpcError
        return { available: false, detail: message, isolation: [], hints: hint === '' ? [] : [hint] }
      }
    },
  }
}

function ignoreMissing(cause: unknown): undefined {
  if (cause instanceof EngineError && cause.status === 404) return undefined
  throw cause
}

/** Kept with the reason once a container has ended. That the engine itself is away says nothing of the container. */
async function awaitEnd(api: EngineApi, name: string, isGone: () => boolean): Promise<string> {
  for (let pause = pollIntervals.first; ; pause = Math.min(pause * 2, pollIntervals.last)) {
    // Some engines forget those who wait: each wait has its time.

    await api.call('POST', `/containers/${name}/wait`).catch(() => undefined)
    const found = await api.call<Inspected>('GET', `/containers/${name}/json`).catch((cause) => {
      if (cause instanceof EngineError && cause.status === 404) return 'gone'
      return undefined
    })
    if (found === 'gone' || isGone()) return 'it was removed'
    if (typeof found === 'object' && !found.State.Running) {
      const { OOMKilled, ExitCode, Error: problem } = found.State
      return OOMKilled
        ? 'it passed its memory limit (MCM.MEMORY_MB)'
        : `it ended with exit code ${ExitCode}${problem ? `: ${problem}` : ''}`
    }
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}
