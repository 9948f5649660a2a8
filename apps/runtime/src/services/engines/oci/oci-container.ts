/** The container of one plan in an engine of the Docker Engine API: prepares, creates, follows and removes it. */
import { isIPv4 } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RpcError } from '@selvedge/protocol'
import { reportFailure } from '@selvedge/service-kit/safely'
import type { Blobs } from '../../images/blobs.ts'
import type { Instance, Plan, TcpUpstream } from '../engine.ts'
import * as answers from './answers.ts'
import { type ConfigFiles, openConfigFiles } from './config-files.ts'
import { type CreateBody, createBody, labels } from './create-body.ts'
import { createVolumes } from './create-volumes.ts'
import { expectFreePort } from './device-port.ts'
import type { DiskWatch } from './disk-watch.ts'
import { type EngineApi, EngineError, findEngine, ignoreMissing } from './engine-api.ts'
import { isOfOtherUser, otherUserHint } from './engine-hints.ts'
import type { EngineImages } from './engine-images.ts'
import type { EngineTraits, TraitsOf } from './engine-traits.ts'
import { type Given, holdGiven, verifyGiven } from './given.ts'
import type { HostGuard } from './host-guard.ts'
import {
  healthCommandOf,
  type ImageConfig,
  portInWords,
  portOf,
  readImageConfig,
  readyOf,
  readyPortsOf,
  stopSignalOf,
  userOf,
} from './image-config.ts'
import { followContainer, type OciInstance } from './instance.ts'
import { openLabelSecret } from './label-secret.ts'
import { createNetwork, protectFrom, type Reach, reachOf, removeNetwork, upstreamOf } from './networks.ts'
import { initContainer, openOutput } from './open-output.ts'
import type { Destinations } from './outbound/destinations.ts'
import type { Outbound } from './outbound/outbound.ts'
import { layersOf, outboundLayer, type Users } from './profile.ts'
import { openSecretFiles, type SecretFiles, secretsFolder, secretsFolders } from './secret-files.ts'
import { openSocketFolder, type SocketFolder } from './socket-folder.ts'
import { type UsersOf, usersIn } from './users.ts'
import { shortHash, type Volumes, volumesOf } from './volumes.ts'

/** What all containers of one runtime share. */
export interface OciHost {
  /** State folder of the runtime. */
  readonly state: string
  /** Folder of the sockets that containers reach the runtime by. */
  readonly folder: string
  /** Distinguishes the runtime from others with the same engine. */
  readonly owner: string
  /** Socket of the engine; empty: the first that is found. */
  readonly socket: string
  readonly blobs: Blobs
  readonly guard: HostGuard
  readonly images: EngineImages
  readonly traitsOf: TraitsOf
  /** For descriptions. */
  readonly recentTraitsOf: TraitsOf
  readonly users: UsersOf
  readonly disk: DiskWatch
  readonly outbound: Outbound
  /** Folders with files of the Container Device Interface. */
  readonly cdiFolders: readonly string[]
}

/** What a container is to be, before it is created. */
interface Prepared {
  readonly api: EngineApi
  readonly name: string
  readonly traits: EngineTraits
  readonly users: Users
  readonly reach: Reach
  /** Where its packets may lead; undefined without a way out. */
  readonly destinations: Destinations | undefined
  readonly port: number
  readonly volumes: Volumes
  readonly config: ImageConfig
  readonly given: Given
  /** The body that creates it. */
  body(own: OwnFolder): CreateBody
  /** Gives the engine the image. */
  load(): Promise<void>
}

/** The folders of an instance on the device. */
interface OwnFolder extends SocketFolder {
  readonly secrets: SecretFiles | undefined
  readonly configs: ConfigFiles
}

/** Creates and starts the container of a plan. @throws RpcError `container_failed`, `storage_full`, `engine_unavailable` */
export async function startContainer(host: OciHost, plan: Plan): Promise<OciInstance> {
  try {
    const api = findEngine(host.socket)
    const traits = await host.traitsOf(api)
    const { users, release } = await host.users.choose(api, traits, plan)
    try {
      return await startPrepared(host, await prepare(host, plan, { api, traits, users }), plan)
    } finally {
      release()
    }
  } catch (cause) {
    throw cause instanceof EngineError ? startFailure(host, cause) : cause
  }
}

async function startPrepared(host: OciHost, prepared: Prepared, plan: Plan): Promise<OciInstance> {
  const { given, users } = prepared
  const own = await openFolder(host, plan, users, true).catch((cause: unknown) => {
    given.close()
    throw cause
  })
  try {
    await create(host, prepared, plan, own)
    return await follow(host, prepared, plan, own, true)
  } catch (cause) {
    await removeContainer(prepared.api, prepared.name).catch(() => undefined)
    await discard(host, prepared, own)
    throw cause
  } finally {
    given.close()
  }
}

/** The container of a plan that an earlier run of the runtime left running; undefined if the runtime did not create it. */
export async function adoptContainer(host: OciHost, plan: Plan): Promise<OciInstance | undefined> {
  const api = findEngine(host.socket)
  const name = nameOf(host, plan)
  const found = await api.read(`/containers/${name}/json`, answers.inspected).catch(ignoreMissing)
  if (!found?.State.Running) return undefined
  const traits = await host.traitsOf(api)
  const users = usersIn(found.Config.Labels, traits)
  try {
    return await adoptPrepared(host, plan, await prepare(host, plan, { api, traits, users }), found)
  } catch (cause) {
    // Nothing follows what it does any more: its device or a secret may be gone.
    if (cause instanceof RpcError) await removeContainer(api, name).catch(() => undefined)
    throw cause
  }
}

async function adoptPrepared(
  host: OciHost,
  plan: Plan,
  prepared: Prepared,
  found: answers.Inspected,
): Promise<OciInstance | undefined> {
  const { given, users } = prepared
  given.close()
  const own = await openFolder(host, plan, users, false)
  try {
    // Its users are part of what is proven.
    const { Labels } = prepared.body(own)
    if (found.Config.Labels[labels.proof] === Labels[labels.proof]) {
      await limit(host, prepared, plan, await protect(host, prepared))
      plan.log('runtime', 'it went on while the runtime was away')
      return await follow(host, prepared, plan, own, false)
    }
    plan.log('runtime', 'a container of its name was there that is not its own')
  } catch (cause) {
    await own.close()
    throw cause
  }
  await own.close()
  return undefined
}

/** Milliseconds between checks of a container that something else removes. */
const removalPauses = [50, 100, 200, 400, 800, 1600]

/**
 * Removes a container with its anonymous volumes. Something else may remove it at the same time, which Podman reports as an error: it counts
 * only if the container stays.
 */
export async function removeContainer(api: EngineApi, name: string): Promise<void> {
  try {
    await api.send('DELETE', `/containers/${name}?force=true&v=true`)
  } catch (cause) {
    for (const pause of removalPauses) {
      const left = await api.read(`/containers/${name}/json`, answers.inspected).catch(ignoreMissing)
      if (left === undefined) return
      await sleep(pause)
    }
    throw cause
  }
}

const nameOf = ({ owner }: OciHost, { key, revision }: Plan): string =>
  `selvedge-${owner}-${shortHash(key)}-r${revision}`

/** @throws RpcError if a secret is not set, or there is no folder in memory; and what the system throws */
async function openFolder(
  { folder, owner }: OciHost,
  plan: Plan,
  users: Users,
  isNew: boolean,
): Promise<OwnFolder> {
  const name = `${shortHash(plan.key)}-${plan.revision}`
  const values = plan.secrets?.()
  const secrets = values && openSecretFiles(secretsFolder(owner), name)
  let configs: ConfigFiles | undefined
  const removeFiles = () => {
    secrets?.remove()
    configs?.remove()
  }
  try {
    if (values) secrets?.replace(values)
    const socket = await openSocketFolder(folder, name, plan.host.serve, plan)
    try {
      configs = openConfigFiles(folder, name, plan, users, isNew)
    } catch (cause) {
      await socket.close()
      throw cause
    }
    return {
      path: socket.path,
      secrets,
      configs,
      async close() {
        await socket.close()
        removeFiles()
      },
    }
  } catch (cause) {
    removeFiles()
    throw cause
  }
}

async function prepare(
  host: OciHost,
  plan: Plan,
  { api, traits, users }: Pick<Prepared, 'api' | 'traits' | 'users'>,
): Promise<Prepared> {
  const { owner, blobs, images, cdiFolders } = host
  const name = nameOf(host, plan)
  const config: ImageConfig = await readImageConfig(blobs, plan)
  const port = portOf(plan, config)
  const volumes = volumesOf(plan, config, owner)
  const destinations = host.outbound.destinationsOf(plan, traits)
  const reach = reachOf(name, plan, traits, destinations !== undefined)
  const image = images.tagOf(plan)
  const secret = () => openLabelSecret(join(host.state, 'oci-secret'))
  const own = [host.state, dirname(host.state), api.socketPath, traits.folder ?? host.state]
  const given = await holdGiven({ settings: plan.settings, traits, users, own, cdiFolders })
  return {
    given,
    api,
    traits,
    users,
    name,
    reach,
    destinations,
    port,
    volumes,
    config,
    body: ({ path: folder, secrets, configs: { mounts: configMounts } }) => {
      const common = { plan, owner, image, port, folder, volumes, config, users, traits, given, ...reach }
      return createBody({ ...common, configMounts, secretsFolder: secrets?.path }, secret())
    },
    load: () => images.load(api, plan, config),
  }
}

/**
 * The networks of an engine without root are in a namespace of their own, in which no program of the device listens.
 *
 * @returns the address of the device in the network of the container, or ""
 */
async function protect(
  { guard }: OciHost,
  { api, reach: { network, isPublished }, traits }: Pick<Prepared, 'api' | 'reach' | 'traits'>,
): Promise<string> {
  return network !== undefined && !isPublished ? protectFrom(api, guard, network, traits) : ''
}

/** Sets the rules for the packets of a container that is initialized or runs. @param gateway address of the device in its network */
async function limit(
  { outbound }: OciHost,
  { api, name, destinations }: Prepared,
  plan: Plan,
  gateway: string,
): Promise<void> {
  if (!destinations) return
  const { NetworkSettings } = await api.read(`/containers/${name}/json`, answers.inspected)
  const address = NetworkSettings.Networks?.[name]?.IPAddress ?? ''
  if (!isIPv4(gateway) || !isIPv4(address))
    throw new RpcError(
      'engine_unavailable',
      `the network of the container has no usable addresses: ${JSON.stringify([gateway, address]).slice(0, 200)}`,
    )
  await outbound.limit({ api, name, gateway, address }, destinations, plan)
}

async function create(host: OciHost, prepared: Prepared, plan: Plan, own: OwnFolder): Promise<void> {
  const { api, name, reach, users, volumes } = prepared
  await prepared.load()
  await removeContainer(api, name)
  await createVolumes(api, volumes, host.owner, users)
  if (reach.isOfDevice) await expectFreePort(prepared.port)
  if (reach.network !== undefined) await createNetwork(api, reach.network, host.owner, reach.hasWayOut)
  const gateway = await protect(host, prepared)
  await api.send('POST', `/containers/create?name=${name}`, prepared.body(own))
  // Before its program runs: it has its process and its network from here on.
  if (reach.hasWayOut || users.kind === 'own') await initContainer(api, name, reach.hasWayOut)
  if (users.kind === 'own') await openOutput(api, name)
  await verifyGiven(api, name, prepared.given)
  await limit(host, prepared, plan, gateway)
  await api.send('POST', `/containers/${name}/start`)
}

async function discard(
  { guard, images, outbound }: OciHost,
  { api, name }: Prepared,
  own: OwnFolder,
): Promise<void> {
  await outbound.release(name)
  await own.close()
  await removeNetwork(api, name).catch(() => undefined)
  await guard.release(name).catch((cause) => reportFailure('oci.guard', cause))
  await images.sweep(api).catch(() => undefined)
}

async function follow(
  host: OciHost,
  prepared: Prepared,
  plan: Plan,
  own: OwnFolder,
  isNew: boolean,
): Promise<OciInstance> {
  const { api, name, reach, port, users, traits, volumes } = prepared
  const maxBytes = plan.settings['MCM.ROOT_MB'] * 1024 * 1024
  const ofImage = volumes.ofImage.map((each) => each.name)
  const found = await api.read(`/containers/${name}/json`, answers.inspected)
  return followContainer({
    api,
    name,
    plan,
    // If it has exited already, the caller needs the reason and not an address.
    upstream: found.State.Running
      ? upstreamOf(found, reach, { target: port, protocol: 'tcp' })
      : { host: '127.0.0.1', port: 0 },
    portOf: portsIn(found, reach, plan),
    stopSignal: stopSignalOf(plan, prepared.config),
    readiness: {
      ready: readyOf(plan, prepared.config),
      portInWords: portInWords(plan, prepared.config),
      ports: readyPortsOf(plan, prepared.config),
    },
    healthCommand: healthCommandOf(plan, prepared.config),
    isolation: [
      ...layersOf(users, userOf(plan, prepared.config), traits, plan.settings),
      ...(reach.hasWayOut ? [outboundLayer] : []),
    ],
    watchDisk: (onFull) => host.disk.watch({ api, name, maxBytes, volumes: ofImage, onFull }),
    isNew,
    renewFiles: own.secrets && (() => own.secrets?.replace(plan.secrets?.() ?? [])),
    remove: async () => void (await removeContainer(api, name)),
    release: () => discard(host, prepared, own),
  })
}

/** Where the ports of MCM.PORTS are. */
function portsIn(
  found: answers.Inspected,
  reach: Reach,
  { settings }: Plan,
): NonNullable<Instance['portOf']> {
  const mappings = found.State.Running ? settings['MCM.PORTS'] : []
  const upstreams = new Map<string, TcpUpstream>(
    mappings.map((each) => [`${each.target}/${each.protocol}`, upstreamOf(found, reach, each)]),
  )
  return ({ target, protocol }) => upstreams.get(`${target}/${protocol}`)
}

/** What the engine or the device lacks is not the fault of the container, and passes. */
function startFailure({ folder, owner }: OciHost, cause: EngineError): RpcError {
  const { message, shortage } = cause
  if (isOfOtherUser(message, [folder, ...secretsFolders(owner)]))
    return new RpcError(
      'engine_unavailable',
      `the user of the container engine may not open ${folder}, which each container mounts: ${message}`,
      { cause, hint: otherUserHint() },
    )
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
