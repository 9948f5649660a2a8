/**
 * What runs on the device: images, containers and functions, the engines that run them, and the gateway that leads callers to them.
 *
 * It depends on the device: the account owns the services, and the checks of tokens admit their callers. It must not know where the
 * device is, or how its own methods are called.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Methods, type ResultOf, RpcError } from '@selvedge/protocol'
import type { Listener } from '@selvedge/service-kit/http'
import { maxConnectionsOf, requestIdOf } from '@selvedge/service-kit/http'
import { errorIdOf } from '@selvedge/service-kit/log'
import { inBackground } from '@selvedge/service-kit/safely'
import { type DocumentNotice, openDocument } from '@selvedge/service-kit/store'
import type { RuntimeConfig } from '../config.ts'
import type { Device } from '../device/device.ts'
import type { EngineSummary } from '../device/presence.ts'
import { signalling } from '../device/signals.ts'
import { type AppConfigs, createAppConfigs, readConfig } from './apps/app-configs.ts'
import { type Apps, createApps } from './apps/apps.ts'
import { completionOf } from './apps/completions.ts'
import { appOf, memberNames } from './apps/member-names.ts'
import { recoverApps } from './apps/recovery.ts'
import { createReleaseFiles, type ReleaseFiles } from './apps/release-files.ts'
import { sharedDataOf } from './apps/shared-data.ts'
import { type AppStore, openStoredApps } from './apps/stored-apps.ts'
import { createContainerHosts } from './container-host.ts'
import { type Containers, createContainers } from './containers/containers.ts'
import { createFailedNotice } from './containers/failed-notice.ts'
import { createContainerStorage } from './containers/storage.ts'
import { type DeploymentStore, deploymentsFormat, kindsInUse } from './deployments/deployments.ts'
import { openHeldPaths } from './deployments/held-paths.ts'
import type { Engine, EngineReport } from './engines/engine.ts'
import { withNotice } from './engines/engine-notice.ts'
import { createFunctionEngine } from './engines/function/function-engine.ts'
import { createOciEngine } from './engines/oci/oci-engine.ts'
import { createAdmit } from './gateway/admit.ts'
import { createGateway } from './gateway/gateway.ts'
import { createRoutes } from './gateway/routes.ts'
import { createServiceIdentity } from './gateway/service-identity.ts'
import { createGrants, grantedCdiDevices } from './grants/grants.ts'
import { readGrantedAddresses, readGrantedPorts } from './grants/network-grants.ts'
import { type Blobs, openBlobs } from './images/blobs.ts'
import { type ImageParts, type Images, openImages } from './images/images.ts'
import { createPorts, type Ports } from './ports/ports.ts'
import { openHandledTimes } from './schedules/handled-times.ts'
import { createSchedules, type Schedules } from './schedules/schedules.ts'
import { openSecrets } from './secrets/secrets.ts'
import { createServiceSecrets, type ServiceSecrets } from './secrets/service-secrets.ts'
import type { CallingService, OpenServiceApi, ServiceRequests } from './service-api.ts'

export interface Services {
  readonly images: Images
  readonly containers: Containers
  readonly apps: Omit<Apps, 'forget' | 'dropSecrets' | 'dropConfigs'>
  readonly secrets: ServiceSecrets
  readonly schedules: Pick<Schedules, 'runNow'>
  /** What a person should know of the files of the deployments, of paths that were given up, and of secrets. */
  readonly documents: Readonly<
    Record<
      'deployments' | 'apps' | 'heldPaths' | 'secrets' | 'schedules',
      { readonly notices: readonly DocumentNotice[] }
    >
  >
  /** Answers requests for services. */
  readonly listener: Required<Omit<Listener, 'tunnel'>>
  /** Sets the local API, as services reach it. To be called before `start`. */
  answerServices(openApi: OpenServiceApi): void
  describeEngines(): Promise<ResultOf<Methods['getEngines']>>
  /** A sentence for each engine that does not work although a deployed service needs it. */
  unavailableEngines(): Promise<string[]>
  /** Removes all that belongs to an account, which `leave` takes from the runtime. Resolves with what `leave` gives. */
  wipe<T>(accountId: string, leave: () => Promise<T>): Promise<T>
  /** Recovers what an earlier run left, and starts what is wanted. */
  start(): void
  /** @param isReplaced whether a runtime of another release starts next: OCI containers continue */
  close(isReplaced: boolean): Promise<void>
}

type EngineKind = 'function' | 'oci'

/** The bundled program that hosts functions, beside this one; from the sources, where it was built to. */
const functionProgram = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../dist/function-host.mjs' : './function-host.mjs',
    import.meta.url,
  ),
)

export async function openServices(config: RuntimeConfig, device: Device): Promise<Services> {
  const { folder, nodeId, clock, log, notices, presence } = device
  const accountId = () => device.state.value.accountId
  const documents = await openDocuments(device)
  const { deployments: store, apps: storedApps, heldPaths, secrets, schedules: handled } = documents
  const releases = createReleaseFiles(join(folder, 'releases'), Object.keys(storedApps.value))
  const leftSecrets = await recoverApps(storedApps, store.value, secrets, releases)
  const blobs = await openBlobs(join(folder, 'images'))
  const engines = createEngines(config, device, blobs)
  const showFailed = createFailedNotice(store, notices, accountId)
  showFailed()
  const images = await openOwnImages(config, device, { store, blobs, engines, former: releases })
  const identity = createServiceIdentity(nodeId, clock)
  const routes = createRoutes(accountId)
  const gateway = createOwnGateway(device, routes, identity)
  const { open: openApi, set: answerServices } = createServiceApiSlot()
  const ports = createOwnPorts(config, device)
  const schedules = createSchedules({ store, handled, clock, log, now: () => performance.now() })
  const onFailed = () => {
    showFailed()
    ports.refresh()
    inBackground('schedules.refresh', schedules.refresh())
    presence.servicesChanged()
  }
  const onChange = () => {
    routes.refresh()
    onFailed()
    images.sweep().catch((cause) => log.warn('what images left could not be removed', { cause }))
  }
  const configs = createAppConfigs(join(folder, 'configs'))
  const containers = createContainers({
    ...{ store, heldPaths, secrets, engines, clock, log, accountId, ports, schedules, onChange, onFailed },
    ...appsOfContainers(storedApps, configs, releases),
    grants: createGrants(config),
    storage: createContainerStorage(join(folder, 'storage.db')),
    info: () => ({ httpPort: Number(new URL(presence.url()).port), nodeId, apiRoot: presence.url() }),
    hostFor: createContainerHosts({ ...device, store, identity, gateway, openApi, url: presence.url }),
    ...{ hold: images.hold, describeDownload: images.describeDownload },
    ...{ onServing: () => device.signals.send('containers'), onEvent: device.measures.containerEvent },
    onNotRecovered: (details) => notices.raise('recovery_failed', details),
  })
  const apps = createApps({
    ...{ store: storedApps, deployments: store, containers, secrets, configs, releases, engine: engines.oci },
    ...{ clock, images, pullsOf: images.pulls, onProgress: () => device.signals.send('apps') },
  })
  for (const each of [routes, ports, schedules]) each.follow(containers)
  presence.serve(containers, () => workingEngines(engines))
  device.onAccountChange(() => followAccount(images, containers))

  return {
    images,
    containers,
    apps,
    secrets: createServiceSecrets(secrets, containers),
    schedules,
    documents,
    listener: { request: gateway.handle, upgrade: gateway.handleUpgrade },
    answerServices,
    describeEngines: async () => ({ ...(await describeEngines(engines)), ports: ports.all() }),
    unavailableEngines: () => unavailableEngines(store, engines),
    wipe: createWipe({ images, containers, schedules, apps }),
    start: () => start({ images, containers, schedules, apps }, ports, leftSecrets),
    async close(isReplaced) {
      for (const each of [ports, schedules]) each.close()
      await containers.close(isReplaced)
      await closeEngines(engines, isReplaced)
      gateway.close()
      await Promise.all(Object.values(documents).map((each) => each.close()))
    },
  }
}

/** What containers need of the apps that they belong to. */
const appsOfContainers = (store: AppStore, configs: AppConfigs, releases: ReleaseFiles) => ({
  formerContent: releases.contentOf,
  appNameOf: (key: string) => appOf(store.value, key)?.name,
  namesOf: (key: string) => memberNames(() => store.value, key),
  completionOf: (key: string, revision: number) => completionOf(store.value, key, revision),
  sharedDataOf: (accountId: string) => sharedDataOf(store.value, accountId),
  configOf: (key: string, digest: string) => readConfig(store, configs, key, digest),
})

interface Wiped {
  readonly images: Images
  readonly containers: Containers
  readonly schedules: Schedules
  readonly apps: Apps
}

const createWipe =
  ({ images, containers, schedules, apps }: Wiped): Services['wipe'] =>
  async (accountId, leave) => {
    const left = await containers.wipe(accountId, leave)
    // Without containers, an app is not there; a power cut before this changes nothing about that.
    await apps.forget(accountId)
    await Promise.all([images.followAccount(), images.sweep(), schedules.refresh()])
    return left
  }

function start(
  { images, containers, schedules, apps }: Wiped,
  ports: Ports,
  leftSecrets: Awaited<ReturnType<typeof recoverApps>>,
): void {
  images.continuePulls()
  const started = containers.resume().then(ports.refresh).then(schedules.start)
  inBackground('containers.resume', started.then(() => apps.dropSecrets(leftSecrets)).then(apps.dropConfigs))
}

const createOwnGateway = (
  { callers, clock, log, state }: Device,
  routes: Parameters<typeof createGateway>[0]['routes'],
  identity: ReturnType<typeof createServiceIdentity>,
) =>
  createGateway({
    routes,
    admit: createAdmit({ ...callers, identity, now: clock.now }),
    lasting: callers.lasting,
    accountId: () => state.value.accountId,
    now: () => performance.now(),
    nonce: callers.nonce,
    onInternalError: (cause, request) =>
      errorIdOf(log, 'a request failed', { requestId: requestIdOf(request), cause }),
  })

/** Ports that programs of this project use by default, and that of multicast DNS: no service gets them. */
const reservedPorts = ['8083/tcp', '8084/tcp', '8085/tcp', '5353/udp']

const createOwnPorts = (config: RuntimeConfig, { presence, log }: Device): Ports =>
  createPorts({
    granted: readGrantedPorts(config['services.publish']),
    reserved: () => new Set([...reservedPorts, `${new URL(presence.url()).port}/tcp`]),
    log,
    now: () => performance.now(),
    maxPassages: maxConnectionsOf(),
  })

/** The local API is made after the services that call it. Without it, no service starts. */
function createServiceApiSlot() {
  let openApi: OpenServiceApi | undefined
  return {
    open: (service: CallingService): ServiceRequests => {
      if (!openApi) throw new RpcError('engine_unavailable', 'the local API is not open yet')
      return openApi(service)
    },
    set(given: OpenServiceApi): void {
      openApi = given
    },
  }
}

const openDocuments = async (device: Device) => ({
  deployments: await openDeployments(device),
  apps: await openAppStore(device),
  heldPaths: await openHeldPaths(device.folder),
  secrets: await openSecrets(device.folder, device.clock),
  schedules: await openHandledTimes(device.folder),
})

async function openDeployments({ folder, measures, signals }: Device): Promise<DeploymentStore> {
  const document = await openDocument(join(folder, 'deployments'), deploymentsFormat)
  return signalling(measures.document('deployments', document), () => signals.send('containers'))
}

/** What changes about apps is shown with their containers. */
async function openAppStore({ folder, signals }: Device): Promise<AppStore> {
  return signalling(await openStoredApps(folder), () => signals.send('containers'))
}

type Engines = Readonly<Record<EngineKind, Engine>>

function createEngines(config: RuntimeConfig, { folder, notices }: Device, blobs: Blobs): Engines {
  const functions = createFunctionEngine({ state: folder, program: functionProgram, blobs })
  const oci = createOciEngine({
    state: folder,
    socket: config['oci.socket'],
    cdi: { folders: config['oci.cdiFolders'], granted: grantedCdiDevices(config['services.devices']) },
    blobs,
    granted: readGrantedAddresses(config['services.outbound']),
    nameServers: config['services.nameServers'],
  })
  return {
    function: withNotice(functions, 'function_engine_unavailable', notices),
    oci: withNotice(oci, 'oci_engine_unavailable', notices),
  }
}

async function followAccount(...all: readonly { followAccount(): Promise<void> }[]): Promise<void> {
  await Promise.all(all.map((each) => each.followAccount()))
}

const closeEngines = (engines: Engines, isReplaced: boolean): Promise<unknown> =>
  Promise.all(Object.values(engines).map((engine) => engine.close(isReplaced)))

const describeEngines = async (engines: Engines): Promise<Record<EngineKind, EngineReport>> => ({
  function: await engines.function.describe(),
  oci: await engines.oci.describe(),
})

async function workingEngines(engines: Engines): Promise<EngineSummary[]> {
  const { function: functions, oci } = await describeEngines(engines)
  const all = [
    { kind: 'function' as const, ...functions },
    { kind: 'oci' as const, ...oci },
  ]
  return all.filter(({ available }) => available)
}

async function unavailableEngines({ value }: DeploymentStore, engines: Engines): Promise<string[]> {
  const reports = await Promise.all(
    kindsInUse(value).map(async (kind) => ({ kind, report: await engines[kind].describe() })),
  )
  return reports
    .filter(({ report }) => !report.available)
    .map(({ kind, report }) => `the engine for ${kind} does not work: ${JSON.stringify(report)}`)
}

const openOwnImages = (
  config: RuntimeConfig,
  { folder, clock, log, state, signals, network, metering, callers }: Device,
  { store, blobs, engines, former }: Pick<ImageParts, 'store' | 'blobs' | 'former'> & { engines: Engines },
): Promise<Images> =>
  openImages({
    folder: join(folder, 'images'),
    blobs,
    store,
    former,
    clock,
    reserve: config['images.reserve'],
    maxSize: config['images.maxSize'],
    registries: {
      authFile: config['images.registryAuth'],
      mirrors: config['images.mirrors'],
      insecure: config['images.insecure'],
      outbound: network.for('images'),
    },
    allowance: metering,
    pullMs: config['images.pullTimeout'] * 1000,
    partialMs: config['images.partialAge'] * 1000,
    accountId: () => state.value.accountId,
    watchWanted: callers.watchWork,
    onPull: () => signals.send('pulls'),
    onRemoved: (digest, kind) =>
      void engines[kind]
        .removeImage(digest)
        .catch((cause) => log.debug('an image is left in its engine', { digest, cause })),
  })
