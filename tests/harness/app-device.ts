/** A device for the tests of apps: real documents and containers, and an engine that starts nothing. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AppPlan, type AppService, RpcError, type TopicData } from '@selvedge/protocol'
import { type DocumentStore, openDocument } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import {
  type AppConfigs,
  createAppConfigs,
  readConfig,
} from '../../apps/runtime/src/services/apps/app-configs.ts'
import { createApps } from '../../apps/runtime/src/services/apps/apps.ts'
import { completionOf } from '../../apps/runtime/src/services/apps/completions.ts'
import { appOf, memberNames } from '../../apps/runtime/src/services/apps/member-names.ts'
import { recoverApps } from '../../apps/runtime/src/services/apps/recovery.ts'
import { createReleaseFiles } from '../../apps/runtime/src/services/apps/release-files.ts'
import { sharedDataOf } from '../../apps/runtime/src/services/apps/shared-data.ts'
import { openStoredApps } from '../../apps/runtime/src/services/apps/stored-apps.ts'
import { createContainers } from '../../apps/runtime/src/services/containers/containers.ts'
import { createContentInUse } from '../../apps/runtime/src/services/deployments/content-in-use.ts'
import { deploymentsFormat } from '../../apps/runtime/src/services/deployments/deployments.ts'
import { openHeldPaths } from '../../apps/runtime/src/services/deployments/held-paths.ts'
import { keyOf, type Owner } from '../../apps/runtime/src/services/deployments/ownership.ts'
import type { Ending, Engine, Instance, Plan } from '../../apps/runtime/src/services/engines/engine.ts'
import { readGrantedPorts } from '../../apps/runtime/src/services/grants/network-grants.ts'
import type { Images } from '../../apps/runtime/src/services/images/images.ts'
import { createPorts } from '../../apps/runtime/src/services/ports/ports.ts'
import { openSecrets, type Secrets } from '../../apps/runtime/src/services/secrets/secrets.ts'

export const own: Owner = { account_id: 'a', client_id: 'c' }
export const neighbour: Owner = { account_id: 'a', client_id: 'd' }

const digestOf = (digit: string) => `sha256:${digit.repeat(64)}`
/** Images that every owner has. */
const images = { i: digestOf('0'), j: digestOf('1'), f: digestOf('2') } as const

const contentOf = (digest: string, kind: 'function' | 'oci') => ({
  kind,
  config: { digest, size: 1 },
  layers: [],
  entry: kind === 'function' ? { digest, size: 1, language: 'js' as const } : null,
  size: 1,
})

const imageOf = ({ account_id, client_id }: Owner, name: keyof typeof images) => ({
  clientId: client_id,
  accountId: account_id,
  name,
  repoTags: [],
  digest: images[name],
  created: 0,
  usedAt: 0,
})

export const service = (name: string, more: Partial<AppService> = {}): AppService => ({
  name,
  image: 'i',
  pull: 'missing',
  platform: null,
  hostname: null,
  isBehindGateway: false,
  env: { 'MCM.IDLE_SEC': '0' },
  dependsOn: [],
  restart: 'always',
  maxRestarts: null,
  needsInit: false,
  addCapabilities: [],
  dropCapabilities: [],
  networks: [],
  volumes: [],
  secrets: [],
  configs: [],
  ...more,
})

export const plan = (
  name: string,
  services: readonly AppService[],
  more: Partial<AppPlan> = {},
): AppPlan => ({
  name,
  services: [...services],
  networks: [],
  volumes: [],
  secrets: [],
  configs: [],
  ...more,
})

/** What a call fails with; `accepted` if it does not. */
export async function reasonOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work()
    return 'accepted'
  } catch (cause) {
    if (cause instanceof RpcError) return cause.reason
    throw cause
  }
}

export type Device = Awaited<ReturnType<typeof openDevice>>

/** What a test sees of the device, and changes. */
interface Seen {
  accountId: string
  /** `<key> r<revision>` of the instances that run. */
  running: string[]
  /** Names of containers in the order in which they started. */
  started: string[]
  stopped: string[]
  /** Keys of data that was removed, without their owner. */
  removed: string[]
  missingForNames: string | undefined
  /** What arrives, as the topic `pulls` shows it. */
  pulls: TopicData<'pulls'>
  pull: Images['deploy']
  /** Called when a deployment proceeds. */
  onProgress: () => void
  /** Called while an instance starts. */
  whileStarting: (plan: Plan) => Promise<unknown>
  /** Called while data is removed. */
  whileRemoving: () => Promise<unknown>
  /** How an instance exits as soon as it has started, by the name of its container. */
  readonly exits: Map<string, () => Ending>
  /** Ends an instance that runs, by its entry in `running`. */
  readonly end: Map<string, (ending: Ending) => void>
  /** Called around each write of a document. */
  aroundWrite: (write: () => Promise<void>) => Promise<void>
}

const nameOf = (key: string) => key.slice(key.lastIndexOf('/') + 1)

function createEngine(seen: Seen): Engine {
  return {
    async start(started: Plan) {
      seen.started.push(nameOf(started.key))
      await seen.whileStarting(started)
      const entry = `${nameOf(started.key)} r${started.revision}`
      seen.running.push(entry)
      const ended = Promise.withResolvers<Ending>()
      const leave = () => {
        const at = seen.running.indexOf(entry)
        if (at >= 0) seen.running.splice(at, 1)
      }
      const end = (ending: Ending) => {
        leave()
        ended.resolve(ending)
      }
      seen.end.set(entry, end)
      const exit = seen.exits.get(nameOf(started.key))
      if (exit) end(exit())
      return {
        upstream: { host: '127.0.0.1', port: 1 },
        isolation: [],
        ended: ended.promise,
        memory: async () => null,
        responds: async () => true,
        async stop() {
          leave()
          seen.stopped.push(nameOf(started.key))
          ended.resolve({ reason: 'exited', why: 'stopped' })
        },
      } as Instance
    },
    adopt: async () => undefined,
    recover: async () => undefined,
    async removeData(key: string) {
      await seen.whileRemoving()
      seen.removed.push(key.split('/').slice(2).join('/'))
    },
    missingForNames: async () => seen.missingForNames,
  } as unknown as Engine
}

const around = <T>(store: DocumentStore<T>, seen: Seen): DocumentStore<T> => ({
  get value() {
    return store.value
  },
  notices: store.notices,
  update: (change) => seen.aroundWrite(() => store.update(change)),
  updateLazily: store.updateLazily,
  settled: store.settled,
  close: store.close,
})

/** The documents, with images of both owners. */
async function openDocuments(folder: string, seen: Seen, openedSecrets: Secrets) {
  const deployments = around(await openDocument(join(folder, 'deployments'), deploymentsFormat), seen)
  const heldPaths = await openHeldPaths(folder)
  const stored = around(await openStoredApps(folder), seen)
  const names = Object.keys(images) as (keyof typeof images)[]
  if (Object.keys(deployments.value.images).length === 0)
    await deployments.update((value) => ({
      ...value,
      contents: Object.fromEntries(
        names.map((name) => [images[name], contentOf(images[name], name === 'f' ? 'function' : 'oci')]),
      ),
      images: Object.fromEntries(
        [own, neighbour].flatMap((owner) => names.map((name) => [keyOf(owner, name), imageOf(owner, name)])),
      ),
    }))
  const releases = createReleaseFiles(join(folder, 'releases'), Object.keys(stored.value))
  const left = await recoverApps(stored, deployments.value, openedSecrets, releases)
  return { deployments, heldPaths, stored, releases, left }
}

type Documents = Awaited<ReturnType<typeof openDocuments>>

const createDeviceContainers = (
  { deployments, heldPaths, stored, releases }: Documents,
  engine: Engine,
  seen: Seen,
  secrets: Parameters<typeof createContainers>[0]['secrets'],
  configs: AppConfigs,
) =>
  createContainers({
    ...{ heldPaths, secrets, store: deployments, engines: { function: engine, oci: engine } },
    ...{ log: createMemoryLog(), clock: createFakeClock(), accountId: () => seen.accountId },
    formerContent: releases.contentOf,
    hold: createContentInUse(() => undefined).hold,
    describeDownload: () => '',
    appNameOf: (key) => appOf(stored.value, key)?.name,
    namesOf: (key) => memberNames(() => stored.value, key),
    completionOf: (key, revision) => completionOf(stored.value, key, revision),
    sharedDataOf: (accountId) => sharedDataOf(stored.value, accountId),
    configOf: (key, digest) => readConfig(stored, configs, key, digest),
    grants: { expect: () => undefined },
    storage: { remove: async () => undefined, close: async () => undefined } as never,
    info: () => ({}) as never,
    hostFor: () => ({}) as never,
    ports: createPorts({
      granted: readGrantedPorts([]),
      reserved: () => new Set(),
      log: createMemoryLog(),
      now: () => 0,
      maxPassages: 16,
    }),
    schedules: { record: () => undefined, refresh: async () => undefined },
    onServing: () => undefined,
    onChange: () => undefined,
    onFailed: () => undefined,
    onEvent: () => undefined,
    onNotRecovered: (details) => {
      throw new Error(JSON.stringify(details))
    },
  })

/** @param folder with the state of an earlier run */
export async function openDevice(folder = mkdtempSync(join(tmpdir(), 'apps-'))) {
  const seen: Seen = {
    accountId: 'a',
    running: [],
    started: [],
    stopped: [],
    removed: [],
    missingForNames: undefined,
    pulls: [],
    pull: async () => {
      throw new RpcError('registry_unavailable', 'there is no registry')
    },
    onProgress: () => undefined,
    whileStarting: async () => undefined,
    whileRemoving: async () => undefined,
    exits: new Map(),
    end: new Map(),
    aroundWrite: (write) => write(),
  }
  const secrets = await openSecrets(folder, createFakeClock())
  const documents = await openDocuments(folder, seen, secrets)
  const { deployments, heldPaths, stored } = documents
  const engine = createEngine(seen)
  const removedSecrets: string[] = []
  const remove = secrets.remove
  secrets.remove = async (owner, name, expectUnused) => {
    removedSecrets.push(name)
    return remove(owner, name, expectUnused)
  }
  const configs = createAppConfigs(join(folder, 'configs'))
  const containers = createDeviceContainers(documents, engine, seen, secrets, configs)
  await containers.resume()
  const apps = createApps({
    store: stored,
    deployments,
    containers,
    secrets,
    ...{ configs, releases: documents.releases },
    engine,
    clock: createFakeClock(),
    images: { deploy: (owner, source, name) => seen.pull(owner, source, name) },
    pullsOf: () => seen.pulls,
    onProgress: () => seen.onProgress(),
  })
  await apps.dropSecrets(documents.left)
  await apps.dropConfigs()
  return {
    folder,
    seen,
    apps,
    containers,
    ...{ stored, deployments, releases: documents.releases },
    removedSecrets,
    secrets,
    /** Names, revisions and variables of the containers in the document. */
    containersIn: () =>
      Object.fromEntries(
        Object.entries(deployments.value.containers).map(([key, { revision, image }]) => [
          nameOf(key),
          `${image} r${revision}`,
        ]),
      ),
    async close(isLast = true) {
      seen.aroundWrite = (write) => write()
      await containers.close(false)
      await Promise.all([deployments.close(), heldPaths.close(), stored.close(), secrets.close()])
      if (isLast) rmSync(folder, { recursive: true })
    },
  }
}
