/** Runs images with a root file system through the Docker Engine API of Podman, Docker or balenaEngine. */
import { realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import type { GrantedAddresses } from '../../grants/network-grants.ts'
import type { Blobs } from '../../images/blobs.ts'
import type { Engine, Plan } from '../engine.ts'
import * as answers from './answers.ts'
import { awaitReady } from './await-ready.ts'
import { missingCdiDevices } from './cdi/find-cdi-device.ts'
import { removeOtherConfigFiles } from './config-files.ts'
import { labels } from './create-body.ts'
import { describeEngine } from './describe-engine.ts'
import { createDiskWatch } from './disk-watch.ts'
import { findEngine, ignoreMissing } from './engine-api.ts'
import { createEngineImages } from './engine-images.ts'
import { createKnownTraits, type TraitsOf } from './engine-traits.ts'
import { createHostGuard, type HostGuard } from './host-guard.ts'
import { type SubordinateFiles, systemFiles } from './id-ranges.ts'
import { declaresVolumes, readImageConfig } from './image-config.ts'
import { removeUnusedNetworks } from './networks.ts'
import { adoptContainer, type OciHost, removeContainer, startContainer } from './oci-container.ts'
import { createOutbound } from './outbound/outbound.ts'
import { createAsk } from './outbound/resolver.ts'
import { removeOtherFiles } from './secret-files.ts'
import { createUsersOf } from './users.ts'
import { shortHash } from './volumes.ts'

export interface OciEngineParts {
  /** State folder of the runtime; two runtimes with one engine keep apart by it. */
  readonly state: string
  /** Socket of the engine; empty: the first that is found. */
  readonly socket: string
  readonly blobs: Blobs
  /** Networks that are not public, and that containers may connect to. */
  readonly granted?: GrantedAddresses
  /** Addresses of name servers for containers; without: those of the device. */
  readonly nameServers?: readonly string[]
  /** For tests. */
  readonly guard?: HostGuard
  /** Folders with files of the Container Device Interface, and the devices in them that the configuration grants. */
  readonly cdi?: { readonly folders: readonly string[]; readonly granted: readonly string[] }
  /** Where the user IDs for containers are listed; for tests. */
  readonly subordinates?: SubordinateFiles
}

/** A device and a port of the device have one user at a time. */
const usesAlone = ({ settings }: Plan): boolean =>
  settings['MCM.DEVICES'].length > 0 || settings['MCM.NETWORK'] === 'host'

const noCdi = { folders: [], granted: [] }

const filter = (label: string, value: string): string =>
  encodeURIComponent(JSON.stringify({ label: [`${label}=${value}`] }))

function createHost(parts: OciEngineParts): OciHost {
  const {
    state,
    socket,
    blobs,
    guard = createHostGuard(),
    subordinates = systemFiles,
    granted = () => [],
    nameServers = [],
    cdi = noCdi,
  } = parts
  const folder = join(realpathSync(state), 'oci')
  const owner = shortHash(realpathSync(state))
  const images = createEngineImages(`localhost/selvedge-${owner}`, blobs)
  const users = createUsersOf(owner, subordinates)
  let engineFolder: string | undefined
  const known = createKnownTraits()
  const traitsOf: TraitsOf = async (api) => {
    const traits = await known.of(api)
    engineFolder = traits.folder
    return traits
  }
  const disk = createDiskWatch({ folder: () => engineFolder })
  const outbound = createOutbound({ guard, granted, ask: createAsk(nameServers) })
  return {
    state,
    folder,
    owner,
    socket,
    blobs,
    guard,
    images,
    traitsOf,
    recentTraitsOf: known.recent,
    users,
    disk,
    outbound,
    cdiFolders: cdi.folders,
  }
}

export function createOciEngine(parts: OciEngineParts): Engine {
  const { socket, cdi = noCdi } = parts
  const host = createHost(parts)
  const { owner, guard, images, users, disk, outbound, folder, blobs } = host

  return {
    async start(plan) {
      const instance = await startContainer(host, plan)
      const problem = await awaitReady(instance, plan.settings)
      if (problem === undefined) return instance
      await instance.stop(0)
      const { why } = await instance.ended
      throw new RpcError('container_failed', problem === why ? why : instance.explain(problem))
    },
    needsAlone: async (plan) => usesAlone(plan) || declaresVolumes(await readImageConfig(blobs, plan)),
    missingForNames: async () => outbound.missing(await host.traitsOf(findEngine(socket))),
    adopt: (plan) => adoptContainer(host, plan),
    async recover(running, digests) {
      const api = findEngine(socket)
      const path = `/containers/json?all=true&filters=${filter(labels.owner, owner)}`
      for (const { Id, Labels, State } of await api.read(path, answers.listed)) {
        const key = Labels[labels.container] ?? ''
        const isWanted = State === 'running' && String(running.get(key)) === Labels[labels.revision]
        if (!isWanted) await removeContainer(api, Id)
      }
      const names = [...running].map(([key, revision]) => `${shortHash(key)}-${revision}`)
      removeOtherFiles(owner, new Set(names))
      removeOtherConfigFiles(folder, new Set(names))
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
    async close(isReplaced) {
      guard.close()
      outbound.close()
      disk.close()
      // Containers that continue have mounted it.
      if (isReplaced) return
      rmSync(folder, { recursive: true, force: true })
      removeOtherFiles(owner, new Set())
    },
    describe: async () =>
      describeEngine(
        socket,
        host.recentTraitsOf,
        guard,
        users,
        outbound,
        await missingCdiDevices(cdi.granted, cdi.folders),
      ),
  }
}
