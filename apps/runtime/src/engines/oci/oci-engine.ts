/** Runs images with a root file system through the Docker Engine API of Podman, Docker or balenaEngine. */
import { realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import { reportFailure } from '@selvedge/service-kit/safely'
import type { Blobs } from '../../images/blobs.ts'
import type { Engine, EngineReport, Instance, Plan, TcpUpstream } from '../engine.ts'
import * as answers from './answers.ts'
import { awaitPort } from './await-port.ts'
import { type CreateBody, createBody, labels, shortHash, volumesOf } from './create-body.ts'
import { type EngineApi, EngineError, findEngine, ignoreMissing } from './engine-api.ts'
import { createEngineImages } from './engine-images.ts'
import { createHostGuard, type HostGuard } from './host-guard.ts'
import { type ImageConfig, imageVolumes, portOf, readImageConfig } from './image-config.ts'
import { followContainer } from './instance.ts'
import { openLabelSecret } from './label-secret.ts'
import {
  createNetwork,
  createReachOf,
  protectFrom,
  type Reach,
  removeNetwork,
  removeUnusedNetworks,
  upstreamOf,
} from './networks.ts'
import { openSocketFolder, type SocketFolder } from './socket-folder.ts'

export interface OciEngineParts {
  /** State folder of the runtime; two runtimes with one engine keep apart by it. */
  readonly state: string
  /** Socket of the engine; empty: the first that is found. */
  readonly socket: string
  readonly blobs: Blobs
  /** For tests. */
  readonly guard?: HostGuard
}

/** The layers that every container of this engine is given; `own network` unless the deployment asks for another. */
const layers = ['namespaces', 'read-only root', 'no capabilities', 'no new privileges', 'cgroup']
const isolationOf = ({ network }: Reach) => (network === undefined ? layers : [...layers, 'own network'])

/** What a container is to be, before it is made. */
interface Prepared {
  readonly api: EngineApi
  readonly name: string
  readonly reach: Reach
  readonly port: number
  /** The body that creates it. @param folder with its socket */
  body(folder: string): CreateBody
  /** Gives the engine the image. */
  load(): Promise<void>
}

export function createOciEngine(parts: OciEngineParts): Engine {
  const { state, socket, blobs, guard = createHostGuard() } = parts
  const folder = join(realpathSync(state), 'oci')
  const owner = shortHash(realpathSync(state))
  const images = createEngineImages(`localhost/selvedge-${owner}`, blobs)
  const reachOf = createReachOf()
  const nameOf = ({ key, revision }: Plan) => `selvedge-${owner}-${shortHash(key)}-r${revision}`
  const secret = () => openLabelSecret(join(state, 'oci-secret'))
  const filter = (label: string, value: string) =>
    encodeURIComponent(JSON.stringify({ label: [`${label}=${value}`] }))
  // With its anonymous volumes.
  const removeContainer = (api: EngineApi, name: string) =>
    api.send('DELETE', `/containers/${name}?force=true&v=true`).catch(ignoreMissing)
  const openFolder = (plan: Plan) =>
    openSocketFolder(folder, `${shortHash(plan.key)}-${plan.revision}`, plan.host.serve, plan)

  async function prepare(plan: Plan): Promise<Prepared> {
    const api = findEngine(socket)
    const name = nameOf(plan)
    const config: ImageConfig = await readImageConfig(blobs, plan)
    const port = portOf(plan, config)
    const volumes = imageVolumes(plan, config)
    const reach = await reachOf(api, name, plan)
    const image = images.tagOf(plan)
    return {
      api,
      name,
      reach,
      port,
      body: (own) => createBody({ plan, owner, image, port, folder: own, volumes, ...reach }, secret()),
      load: () => images.load(api, plan, config),
    }
  }

  /** The networks of an engine without root are in a namespace of their own, in which no program of the device listens. */
  const protect = async (api: EngineApi, { network, isPublished }: Reach): Promise<void> => {
    if (network !== undefined && !isPublished) await protectFrom(api, guard, network)
  }

  async function create({ api, name, reach, body, load }: Prepared, plan: Plan, own: string): Promise<void> {
    await load()
    await removeContainer(api, name)
    for (const volume of volumesOf(plan, owner)) {
      const volumeLabels = { [labels.owner]: owner, [labels.container]: plan.dataKey }
      await api.send('POST', '/volumes/create', { Name: volume.name, Labels: volumeLabels })
    }
    if (reach.network !== undefined) await createNetwork(api, reach.network, owner)
    await protect(api, reach)
    await api.send('POST', `/containers/create?name=${name}`, body(own))
    await api.send('POST', `/containers/${name}/start`)
  }

  async function discard({ api, name }: Pick<Prepared, 'api' | 'name'>, own: SocketFolder): Promise<void> {
    await own.close()
    await removeNetwork(api, name).catch(() => undefined)
    await guard.release(name).catch((cause) => reportFailure('oci.guard', cause))
    await images.sweep(api).catch(() => undefined)
  }

  async function follow(
    prepared: Prepared,
    plan: Plan,
    own: SocketFolder,
    isNew: boolean,
  ): Promise<Instance> {
    const { api, name, reach, port } = prepared
    const found = await api.read(`/containers/${name}/json`, answers.inspected)
    return followContainer({
      api,
      name,
      plan,
      // Of one that has ended already the reason is wanted, not an address.
      upstream: found.State.Running ? upstreamOf(found, reach, port) : { host: '127.0.0.1', port: 0 },
      isolation: isolationOf(reach),
      isNew,
      remove: async () => void (await removeContainer(api, name)),
      release: () => discard(prepared, own),
    })
  }

  async function startContainer(prepared: Prepared, plan: Plan): Promise<Instance> {
    const own = await openFolder(plan)
    try {
      await create(prepared, plan, own.path)
      return await follow(prepared, plan, own, true)
    } catch (cause) {
      await removeContainer(prepared.api, prepared.name).catch(() => undefined)
      await discard(prepared, own)
      throw cause
    }
  }

  return {
    async start(plan) {
      const instance = await prepare(plan)
        .then((prepared) => startContainer(prepared, plan))
        .catch((cause: unknown) => {
          throw cause instanceof EngineError ? startFailure(cause) : cause
        })
      const problem = await awaitPort(
        instance.upstream as TcpUpstream,
        plan.settings['MCM.HEALTH_SEC'],
        instance.ended,
      )
      if (problem === undefined) return instance
      await instance.stop(0)
      throw new RpcError('container_failed', problem)
    },
    async adopt(plan) {
      const api = findEngine(socket)
      const found = await api.read(`/containers/${nameOf(plan)}/json`, answers.inspected).catch(ignoreMissing)
      if (!found?.State.Running) return undefined
      const prepared = await prepare(plan)
      const own = await openFolder(plan)
      try {
        const { Labels } = prepared.body(own.path)
        if (found.Config.Labels[labels.proof] === Labels[labels.proof]) {
          await protect(api, prepared.reach)
          plan.log('runtime', 'it went on while the runtime was away')
          return await follow(prepared, plan, own, false)
        }
        plan.log('runtime', 'a container of its name was there that is not its own')
      } catch (cause) {
        await own.close()
        throw cause
      }
      await own.close()
      return undefined
    },
    async recover(running, digests) {
      const api = findEngine(socket)
      const path = `/containers/json?all=true&filters=${filter(labels.owner, owner)}`
      for (const { Id, Labels, State } of await api.read(path, answers.listed)) {
        const key = Labels[labels.container] ?? ''
        const isWanted = State === 'running' && String(running.get(key)) === Labels[labels.revision]
        if (!isWanted) await removeContainer(api, Id)
      }
      await guard.releaseOthers(`selvedge-${owner}-`, await removeUnusedNetworks(api, owner))
      await images.keepOnly(api, digests)
      await images.sweep(api)
    },
    async removeData(dataKey) {
      const api = findEngine(socket)
      const { Volumes } = await api.read(
        `/volumes?filters=${filter(labels.container, dataKey)}`,
        answers.volumes,
      )
      for (const { Name } of Volumes ?? [])
        if (Name.startsWith(`selvedge-${owner}-`))
          await api.send('DELETE', `/volumes/${Name}?force=true`).catch(ignoreMissing)
    },
    async removeImage(digest) {
      images.unwant(digest)
      await images.sweep(findEngine(socket))
    },
    async close() {
      guard.close()
      rmSync(folder, { recursive: true, force: true })
    },
    describe: () => describeEngine(socket, guard),
  }
}

/** What the engine or the device lacks is not the fault of the container, and passes. */
function startFailure(cause: EngineError): RpcError {
  const { message, shortage } = cause
  if (shortage === undefined)
    return new RpcError('container_failed', `the engine refused it: ${message}`, { cause })
  const detail = `the engine could not start it: ${message}`
  if (shortage === 'disk')
    return new RpcError('storage_full', detail, {
      cause,
      hint: 'Free space on the disk of the container engine; the start is tried again.',
    })
  const hint = 'Free memory, processes or file descriptors, or restart the engine; the start is tried again.'
  return new RpcError('engine_unavailable', detail, { cause, hint })
}

async function describeEngine(socket: string, { missing }: HostGuard): Promise<EngineReport> {
  try {
    const api = findEngine(socket)
    const { ServerVersion, SecurityOptions } = await api.read('/info', answers.info)
    const detail = `${api.socketPath}, version ${ServerVersion}`
    const isRootless = SecurityOptions?.some((each) => each.includes('rootless')) ?? false
    const hints =
      missing === undefined || isRootless
        ? []
        : [`Containers reach programs of this device that listen on all addresses: ${missing}.`]
    return { available: true, detail, isolation: [...layers, 'own network'], hints }
  } catch (cause) {
    const { message, hint = '' } = cause as RpcError
    return { available: false, detail: message, isolation: [], hints: hint === '' ? [] : [hint] }
  }
}
