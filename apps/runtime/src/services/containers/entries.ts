/** The log and the service of each container, in memory. The document lists the containers and their desired state. */
import {
  type ContainerRecord,
  type ContainerSettings,
  type ContainerState,
  type ContainerStatus,
  type LogLine,
  RpcError,
  readSettings,
  usedConfigs,
  usedSecrets,
} from '@selvedge/protocol'
import { redactText } from '@selvedge/protocol/redaction'
import type { Clock } from '@selvedge/service-kit/clock'
import { safely } from '@selvedge/service-kit/safely'
import type { MemberNames } from '../apps/member-names.ts'
import type { Completion } from '../apps/stored-apps.ts'
import type { ContentInUse } from '../deployments/content-in-use.ts'
import { sharedDataKey } from '../deployments/data-keys.ts'
import type { Content, DeploymentStore, Deployments, StoredContainer } from '../deployments/deployments.ts'
import { idOf } from '../deployments/ownership.ts'
import type { Engine, HostServices, Plan, ServiceInfo } from '../engines/engine.ts'
import { logLines } from '../engines/log-lines.ts'
import type { Grants } from '../grants/grants.ts'
import type { PortKeeper } from '../ports/claims.ts'
import type { ScheduleKeeper } from '../schedules/keeper.ts'
import { createMask, type Mask } from '../secrets/masks.ts'
import type { Secrets } from '../secrets/secrets.ts'
import { createAllLogs } from './all-logs.ts'
import { createAllowed } from './allowed.ts'
import { type History, linesOfReason } from './history.ts'
import { type ContainerLog, createContainerLog } from './logs.ts'
import { isOfAccount } from './owned.ts'
import { shownEnv } from './paths.ts'
import { recordOf, type ServiceSummary, stateFrom, statusOf, summaryOf } from './record.ts'
import { createService, type Service } from './service.ts'
import type { ContainerStorage } from './storage.ts'

export interface Entry {
  readonly log: ContainerLog
  /** Hides the values of its secrets. */
  readonly mask: Mask
  service: Service | undefined
}

export interface EntryParts {
  readonly store: DeploymentStore
  readonly engines: Readonly<Record<'function' | 'oci', Engine>>
  readonly storage: ContainerStorage
  readonly clock: Clock
  readonly info: () => Omit<ServiceInfo, 'serviceType'>
  /** What the runtime does for the instances of a container, beside its storage. @param key of the container */
  readonly hostFor: (key: string) => Omit<HostServices, 'openStorage'>
  readonly secrets: Pick<Secrets, 'expectSet' | 'open' | 'forget'>
  readonly grants: Grants
  /** The names by which a container finds others of its app. */
  readonly namesOf: (key: string) => MemberNames | undefined
  /** How a member of an app that runs once completed, in a revision of its container. */
  readonly completionOf: (key: string, revision: number) => Completion | undefined
  /** The content of a file of its app. @throws RpcError `container_failed` if it is missing */
  readonly configOf: (key: string, digest: string) => Buffer
  /** Content of the images of former releases of apps, by its digest. */
  readonly formerContent: (digest: string) => Content | undefined
  /** Data that members of the apps of an account share. */
  readonly sharedDataOf: (accountId: string) => Deployments['leaving']
  /** Ports of the device that lead to containers. */
  readonly ports: PortKeeper
  /** Times at which functions are called. */
  readonly schedules: ScheduleKeeper
  /** The associated account, or "": containers of another account do not run. */
  readonly accountId: () => string
  /** Does work with the content of an image, which stays on the disk until the work is complete. */
  readonly hold: ContentInUse['hold']
  /** For the history: how an image arrived, or "". @param key of the image */
  readonly describeDownload: (key: string) => string
  /** Called when another instance of a container serves, or no instance. */
  readonly onServing: () => void
}

export interface Entries {
  of(key: string): Entry
  /** Containers with an entry; each may have been removed from the document. */
  keys(): string[]
  /**
   * Calls for each line that containers write from now on, also those that are deployed later.
   *
   * @param prefix of the keys of the containers
   * @returns what to call when no more lines are needed
   */
  followLogs(prefix: string, onLine: (key: string, line: LogLine) => void): () => void
  /** Stops a container that is not in the document, and drops its entry. */
  dropIfRemoved(key: string): Promise<void>
  planOf(key: string, container: StoredContainer): Plan
  /** The service of the entry, made when it is first needed. */
  serviceOf(key: string, container: StoredContainer): Service
  /** A service beside that of the entry, for a revision that needs another engine. */
  makeService(key: string, container: StoredContainer): Service
  mayRun(container: StoredContainer): boolean
  /**
   * @throws RpcError `invalid_params` for what the device does not grant, `not_found` for a secret that is not set
   */
  expectAllowed(container: StoredContainer): void
  /** Whether an instance that an earlier run left may continue: what its settings need is still granted, and its secrets are there. */
  mayContinue(container: StoredContainer): boolean
  status(key: string, container: StoredContainer): ContainerStatus
  summary(key: string, container: StoredContainer): ServiceSummary
  /** @throws RpcError `not_found` */
  record(key: string): Promise<ContainerRecord>
  /** Stops all services because the runtime ends. */
  close(isReplaced: boolean): Promise<void>
}

/** Milliseconds between two checks for idle and unhealthy instances. */
const tickIntervalMs = 1000
const now = () => performance.now()

/** @param ready resolves when the leftovers of an earlier run are recovered; undefined from then on. Nothing starts before */
export function createEntries(
  parts: EntryParts,
  history: History,
  ready: () => Promise<void> | undefined,
): Entries {
  const { store, engines, storage, clock } = parts
  const entries = new Map<string, Entry>()
  const allowed = createAllowed(parts.grants, parts.secrets)
  const logs = createAllLogs(entries)
  const ticking = createTicking(entries)

  const contentOf = (container: StoredContainer) => contentIn(parts, container)

  function entryOf(key: string): Entry {
    let entry = entries.get(key)
    if (!entry) {
      entry = { log: createContainerLog(clock), mask: createMask(logLines.maxLine), service: undefined }
      entries.set(key, entry)
      logs.added(key, entry.log)
    }
    return entry
  }

  function planOf(key: string, container: StoredContainer): Plan {
    const settings = readSettings(container.env)
    const content = contentOf(container)
    const entry = entryOf(key)
    return {
      id: idOf(container),
      key,
      dataKey: container.dataKey,
      asking: container,
      revision: container.revision,
      content,
      env: shownEnv(container, content.entry?.language),
      settings,
      info: { ...parts.info(), serviceType: idOf(container) },
      host: {
        ...parts.hostFor(key),
        openStorage: (reader) =>
          storage.open(container.dataKey, settings['MCM.STORAGE_MB'] * 1024 * 1024, reader),
      },
      // A container may write what it likes into its own log; lines of the runtime may quote secrets in errors and addresses.
      log: (stream, text) => (stream === 'runtime' ? noteIn(entry, text) : entry.log.add(stream, text)),
      ...ofApp(parts, key, container, settings),
      expectAllowed: () => allowed.expect(container),
      ...secretsOf(parts.secrets, entry.mask, container, settings),
    }
  }

  function makeService(key: string, container: StoredContainer): Service {
    ticking.start()
    return createService(planOf(key, container), {
      engine: engines[contentOf(container).kind],
      now,
      clock,
      hold: parts.hold,
      ready,
      onServing: parts.onServing,
      report: (happening) => {
        const { log, mask } = entryOf(key)
        history.report(key, { ...happening, detail: mask.hide(happening.detail) }, log.tail(linesOfReason))
      },
    })
  }

  function serviceOf(key: string, container: StoredContainer): Service {
    const entry = entryOf(key)
    entry.service ??= makeService(key, container)
    return entry.service
  }

  const mayRun = (container: StoredContainer): boolean =>
    container.wanted === 'running' && container.failed === null && isOfAccount(container, parts.accountId())

  const stateOf = (key: string, container: StoredContainer): ContainerState =>
    stateFrom(container, mayRun(container) && serviceOf(key, container), completedOf(parts, key, container))

  return {
    of: entryOf,
    keys: () => [...entries.keys()],
    followLogs: logs.follow,
    async dropIfRemoved(key) {
      if (store.value.containers[key]) return
      // Its account may have been removed while a change of it was under way.
      await entries.get(key)?.service?.stop()
      if (!store.value.containers[key]) entries.delete(key)
    },
    planOf,
    serviceOf,
    makeService,
    mayRun,
    expectAllowed: allowed.expect,
    mayContinue: (container) => mayRun(container) && allowed.holds(container),
    status: (key, container) =>
      statusOf(container, contentOf(container), stateOf(key, container), entries.get(key)?.service),
    summary: (key, container) => summaryOf(container, stateOf(key, container), entries.get(key)?.service),
    async record(key) {
      const container = presentIn(store, key)
      const [content, state] = [contentOf(container), stateOf(key, container)]
      const { service } = entries.get(key) ?? {}
      const record = await recordOf(container, content, state, service, completedOf(parts, key, container))
      return { ...record, ...portsAndTimes(parts, key, container) }
    },
    async close(isReplaced) {
      ticking.stop()
      await Promise.all([...entries.values()].map(({ service }) => service && stopAtEnd(service, isReplaced)))
    },
  }
}

const contentIn = (
  { store, formerContent }: Pick<EntryParts, 'store' | 'formerContent'>,
  { digest }: StoredContainer,
): Content => store.value.contents[digest] ?? formerContent(digest)!

/** An instance that continues under the next runtime is not stopped. */
const stopAtEnd = async (service: Service, isReplaced: boolean): Promise<void> => {
  if (!isReplaced || !service.running()?.instance.outlivesRuntime) await service.stop(true)
}

/** What a record has of the ports of the device and of times. */
function portsAndTimes({ ports, schedules }: EntryParts, key: string, container: StoredContainer) {
  const records = ports.records(container)
  const schedule = schedules.record(key, readSettings(container.env))
  return { ...(records && { ports: records }), ...(schedule && { schedule }) }
}

/** @throws RpcError `not_found` */
function presentIn({ value }: Pick<DeploymentStore, 'value'>, key: string): StoredContainer {
  const { [key]: container } = value.containers
  if (container) return container
  throw new RpcError('not_found', 'the container was removed meanwhile')
}

/** Writes a line of the runtime, which may quote secrets in errors and addresses: they are hidden. */
export const noteIn = (entry: Pick<Entry, 'log' | 'mask'>, text: string): void =>
  entry.log.add('runtime', redactText(entry.mask.hide(text)))

/** How a container that runs once has completed; undefined for all that may run. */
export const completedOf = (
  { completionOf }: Pick<EntryParts, 'completionOf'>,
  key: string,
  { wanted, revision }: StoredContainer,
): Completion | undefined => (wanted === 'stopped' ? completionOf(key, revision) : undefined)

/** What a plan has of its app: other members, files, and volumes. */
function ofApp(
  { namesOf, configOf }: EntryParts,
  key: string,
  container: StoredContainer,
  settings: ContainerSettings,
) {
  const shared = sharedDataKey(container, settings)
  const members = namesOf(key)
  const used = usedConfigs(settings['MCM.CONFIGS'])
  const configs = used.map((each) => ({ ...each, read: () => configOf(key, each.digest) }))
  return {
    ...(members && { members }),
    ...(configs.length > 0 && { configs }),
    ...(shared !== undefined && { sharedDataKey: shared }),
  }
}

/** What a plan has of secrets. They are hidden before the instance has them. */
function secretsOf(
  secrets: EntryParts['secrets'],
  mask: Mask,
  container: StoredContainer,
  settings: ContainerSettings,
) {
  const used = usedSecrets(settings['MCM.SECRETS'])
  const open = () => {
    const opened = secrets.open(container, used)
    mask.learn(opened.map(({ value }) => value))
    return opened
  }
  return { hideSecrets: mask.hideLine, ...(used.length > 0 && { secrets: open }) }
}

/** The timer starts with the first service: a runtime without containers does not need it. */
function createTicking(entries: ReadonlyMap<string, Entry>) {
  const tick = safely('containers.tick', (service: Service | undefined) => service?.tick())
  let timer: NodeJS.Timeout | undefined
  const tickAll = () => {
    for (const { service } of entries.values()) tick(service)
  }
  return {
    start(): void {
      timer ??= setInterval(safely('containers.tick', tickAll), tickIntervalMs).unref()
    },
    stop: () => clearInterval(timer),
  }
}
