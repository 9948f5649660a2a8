/** Containers on the device: what is wanted is in the document, what runs follows it. */
import {
  type ContainerRecord,
  type ContainerSpec,
  type ContainerState,
  type HistoryEntry,
  RpcError,
  readSettings,
} from '@selvedge/protocol'
import { redactText } from '@selvedge/protocol/redaction'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import type { Clock } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { inBackground, reportFailure, safely } from '@selvedge/service-kit/safely'
import {
  type Content,
  type DeploymentStore,
  type StoredContainer,
  withHistory,
  withImageUsed,
  without,
  withoutUnused,
} from '../deployments/deployments.ts'
import { createTurns } from '../deployments/turns.ts'
import type { Engine, HostServices, Plan, ServiceInfo } from '../engines/engine.ts'
import { createHistory } from './history.ts'
import { type ContainerLog, createContainerLog } from './logs.ts'
import { prefixesOf, shownEnv } from './paths.ts'
import { recordOf, type ServiceSummary, stateFrom, summaryOf } from './record.ts'
import { expectFreePaths, expectRoom, findImage } from './requirements.ts'
import { createService, type Service } from './service.ts'
import type { ContainerStorage } from './storage.ts'

type Owner = Pick<AccessClaims, 'account_id' | 'client_id'>

/** A container as the gateway sees it. */
export interface Route {
  readonly id: string
  /** Paths under which it answers. */
  readonly prefixes: readonly string[]
  readonly container: StoredContainer
  readonly service: Service
}

export interface Containers {
  deploy(owner: Owner, spec: ContainerSpec): Promise<ContainerRecord>
  list(owner: Owner): Promise<ContainerRecord[]>
  get(owner: Owner, id: string): Promise<ContainerRecord>
  start(owner: Owner, id: string): Promise<ContainerRecord>
  stop(owner: Owner, id: string): Promise<ContainerRecord>
  remove(owner: Owner, id: string): Promise<{ id: string }>
  logs(owner: Owner, id: string): ContainerLog
  history(owner: Owner, id: string): { history: HistoryEntry[] }
  routes(): readonly Route[]
  /** All of them in a few words each, for the registry. */
  summary(): ServiceSummary[]
  /** Brings back what is wanted; requests wait for it. Kept once it is under way. */
  resume(): Promise<void>
  /** To be called when the associated account is another one: what is of it runs, what is not does not. */
  followAccount(): Promise<void>
  /** Ends everything that runs; what is wanted stays wanted. */
  close(): Promise<void>
}

export interface ContainerParts {
  readonly store: DeploymentStore
  readonly engines: Readonly<Record<'function' | 'oci', Engine>>
  readonly storage: ContainerStorage
  readonly clock: Clock
  readonly log: Log
  readonly info: () => Omit<ServiceInfo, 'serviceType'>
  /** What the runtime does for the instances of a container, beside its storage. */
  readonly hostFor: (id: string) => Omit<HostServices, 'openStorage'>
  /** The associated account, or "": containers of another one do not run. */
  readonly accountId: () => string
  /** Called when containers came, changed or went: routes are others, and images may have lost their last user. */
  readonly onChange: () => void
  /** Called when a container was given up. */
  readonly onFailed: () => void
  /** Called when something of an earlier run could not be removed; it is tried again at the next start. */
  readonly onNotRecovered: (details: object) => void
}

/** Milliseconds between two looks at what is idle or unwell. */
const tickInterval = 1000
/** Most changes of one container that wait for each other. */
const maxQueue = 16

interface Entry {
  readonly log: ContainerLog
  service: Service | undefined
}

export function createContainers(parts: ContainerParts): Containers {
  const { store, engines, storage, clock, log } = parts
  const entries = new Map<string, Entry>()
  const now = () => performance.now()
  const history = createHistory({ store, clock, log, onFailed: parts.onFailed })
  const { item, change } = history
  let isClosing = false
  let ticking: NodeJS.Timeout | undefined
  let resuming: Promise<void> | undefined

  const entryOf = (id: string): Entry => {
    let entry = entries.get(id)
    if (!entry) {
      entry = { log: createContainerLog(clock), service: undefined }
      entries.set(id, entry)
    }
    return entry
  }

  /** Changes of one container come one after the other, and none before what was running is taken up. */
  const turns = createTurns(maxQueue)
  async function inside<T>(id: string, work: (entry: Entry, id: string) => Promise<T>): Promise<T> {
    await resuming
    try {
      return await work(entryOf(id), id)
    } finally {
      if (!store.value.containers[id]) entries.delete(id)
    }
  }
  const inTurn = <T>(id: string, work: (entry: Entry, id: string) => Promise<T>): Promise<T> =>
    turns.take(id, () => inside(id, work))

  function planOf(id: string, container: StoredContainer): Plan {
    const settings = readSettings(container.env)
    const { [container.digest]: content } = store.value.contents
    const entry = entryOf(id)
    return {
      id,
      revision: container.revision,
      content: content!,
      env: shownEnv(container, content!.entry?.language),
      settings,
      info: { ...parts.info(), serviceType: id },
      host: {
        ...parts.hostFor(id),
        openStorage: (reader) => storage.open(id, settings['MCM.STORAGE_MB'] * 1024 * 1024, reader),
      },
      // What a container writes is its own; the runtime's lines quote errors and addresses.
      log: (stream, text) => entry.log.add(stream, stream === 'runtime' ? redactText(text) : text),
    }
  }

  function serviceOf(id: string, container: StoredContainer): Service {
    const entry = entryOf(id)
    entry.service ??= makeService(id, container)
    return entry.service
  }

  function makeService(id: string, container: StoredContainer): Service {
    // A runtime without containers has nothing to look after.
    const tick = safely('containers.tick', (service: Service | undefined) => service?.tick())
    ticking ??= setInterval(
      safely('containers.tick', () => {
        for (const { service } of entries.values()) tick(service)
      }),
      tickInterval,
    ).unref()
    return createService(planOf(id, container), {
      engine: engines[store.value.contents[container.digest]!.kind],
      now,
      clock,
      ready: () => resuming,
      report: (happening) => history.report(id, happening, entryOf(id).log.tail(5)),
    })
  }

  /** The id of one of the owner's containers, who may leave out the part that is their own. */
  const idOf = ({ client_id }: Owner, idOrName: string): string =>
    idOrName.startsWith(`${client_id}-`) ? idOrName : `${client_id}-${idOrName}`

  function find(owner: Owner, id: string): StoredContainer {
    const container = store.value.containers[id]
    if (container?.clientId === owner.client_id) return container
    const name = id.slice(owner.client_id.length + 1)
    throw new RpcError(
      'not_found',
      `there is no container ${JSON.stringify(name)} of client ${owner.client_id}`,
    )
  }

  /** A device that changes hands does not go on with what its former owner put there. */
  const isOfAccount = ({ accountId }: StoredContainer): boolean => accountId === parts.accountId()
  /** A change that waited for its turn may come after the account has gone. */
  function expectOfAccount(container: StoredContainer): void {
    if (isOfAccount(container)) return
    throw new RpcError(
      'wrong_account',
      'this runtime is not associated with the account of the token any more',
    )
  }
  const mayRun = (container: StoredContainer): boolean =>
    container.wanted === 'running' && container.failed === null && isOfAccount(container)

  const stateOf = (id: string, container: StoredContainer): ContainerState =>
    stateFrom(container, mayRun(container), entries.get(id)?.service)

  const record = (id: string): Promise<ContainerRecord> => {
    const container = store.value.containers[id]!
    const content = store.value.contents[container.digest]!
    return recordOf(id, container, content, stateOf(id, container), entries.get(id)?.service)
  }

  async function deploy(
    owner: Owner,
    { name, image: imageName, env }: ContainerSpec,
  ): Promise<ContainerRecord> {
    const id = `${owner.client_id}-${name}`
    return inTurn(id, async (entry) => {
      const before = store.value.containers[id]
      const found = findImage(store.value, owner.client_id, imageName)
      const next: StoredContainer = {
        clientId: owner.client_id,
        accountId: owner.account_id,
        name,
        ...found,
        env,
        created: before?.created ?? clock.now(),
        wanted: 'running',
        failed: null,
        note: null,
        revision: (before?.revision ?? 0) + 1,
        restarts: 0,
      }
      expectOfAccount(next)
      readSettings(env)
      expectRoom(store.value, id)
      expectFreePaths(store.value, id, next)
      const kindBefore = before && store.value.contents[before.digest]?.kind
      const { kind } = store.value.contents[found.digest]!
      const service = before && kindBefore === kind ? serviceOf(id, before) : makeService(id, next)
      const running = await service.prepare(planOf(id, next)).catch(async (cause: RpcError) => {
        const detail = cause.message
        const lines = entry.log.tail(5).map(({ text }) => text)
        const words = lines.length > 0 ? ` Its last lines: ${lines.join(' | ').slice(0, 600)}` : ''
        const rule = 'a new version must start and pass its health check'
        if (!before) {
          await store.update((value) =>
            withHistory(value, id, item('deployment failed', rule, detail, owner)),
          )
          throw new RpcError(cause.reason ?? 'container_failed', detail, {
            cause,
            hint: `Nothing of it was kept.${words}`,
          })
        }
        const note = `rolled back: ${detail}`
        await change(
          id,
          ({ containers }) => ({ ...(containers[id] ?? before), note }),
          item('rolled back', rule, detail, owner),
        )
        throw new RpcError(cause.reason ?? 'container_failed', note, {
          cause,
          hint: `Revision ${before.revision} is untouched.${words}`,
        })
      })
      const event = before ? 'redeployed' : 'deployed'
      try {
        await change(
          id,
          (value) => {
            // Others may have been deployed while this one started.
            expectOfAccount(next)
            expectRoom(value, id)
            expectFreePaths(value, id, next)
            if (!value.contents[found.digest])
              throw new RpcError('conflict', `the image ${found.imageId} was removed meanwhile`)
            return next
          },
          item(
            event,
            'deployContainer',
            `revision ${next.revision}, image ${found.imageId} ${found.digest}`,
            owner,
          ),
        )
      } catch (cause) {
        await service.discard(running)
        throw cause
      }
      const old = entry.service
      entry.service = service
      await service.switchTo(running)
      if (old && old !== service) inBackground('containers.stopFormer', old.stop())
      store.updateLazily((value) => withImageUsed(value, found.imageId, clock.now()))
      parts.onChange()
      return record(id)
    })
  }

  /** What a removed container leaves: its volumes, its storage. */
  async function removeData(id: string, kind: Content['kind']): Promise<void> {
    await engines[kind].removeData(id)
    if (kind === 'function') await storage.remove(id)
    store.updateLazily((value) => ({ ...value, leaving: without(value.leaving, id) }))
  }

  /** Runs a container of the present account, stops one of another account. */
  async function followWith(id: string, service: Service | undefined): Promise<void> {
    const container = store.value.containers[id]
    if (!container || !isOfAccount(container)) await service?.stop()
    else if (mayRun(container) && !service?.running()) serviceOf(id, container).resume()
  }

  return {
    deploy,
    list: (owner) =>
      Promise.all(
        Object.entries(store.value.containers)
          .filter(([, { clientId }]) => clientId === owner.client_id)
          .map(([id]) => record(id)),
      ),
    async get(owner, idOrName) {
      const id = idOf(owner, idOrName)
      find(owner, id)
      return record(id)
    },
    start: (owner, idOrName) =>
      inTurn(idOf(owner, idOrName), async (_, id) => {
        const container = find(owner, id)
        const service = serviceOf(id, container)
        if (service.running()) return record(id)
        expectOfAccount(container)
        const running = await service.prepare(planOf(id, container))
        try {
          await change(
            id,
            ({ containers }) => {
              expectOfAccount(container)
              return { ...(containers[id] ?? container), wanted: 'running', failed: null }
            },
            item('started', 'startContainer', `revision ${container.revision}`, owner),
          )
        } catch (cause) {
          await service.discard(running)
          throw cause
        }
        await service.switchTo(running)
        parts.onChange()
        return record(id)
      }),
    stop: (owner, idOrName) =>
      inTurn(idOf(owner, idOrName), async (entry, id) => {
        const container = find(owner, id)
        await change(
          id,
          ({ containers }) => ({ ...(containers[id] ?? container), wanted: 'stopped', failed: null }),
          item('stopped', 'stopContainer', '', owner),
        )
        await entry.service?.stop()
        parts.onChange()
        return record(id)
      }),
    remove: (owner, idOrName) =>
      inTurn(idOf(owner, idOrName), async (entry, id) => {
        const container = find(owner, id)
        const { kind } = store.value.contents[container.digest]!
        await store.update((value) =>
          withHistory(
            withoutUnused({
              ...value,
              containers: without(value.containers, id),
              leaving: { ...value.leaving, [id]: kind },
            }),
            id,
            item('removed', 'removeContainer', '', owner),
          ),
        )
        parts.onChange()
        await entry.service?.stop()
        await removeData(id, kind)
        return { id }
      }),
    logs(owner, idOrName) {
      const id = idOf(owner, idOrName)
      find(owner, id)
      return entryOf(id).log
    },
    history(owner, idOrName) {
      const entriesOf = history.of(idOf(owner, idOrName))
      if (entriesOf) return { history: entriesOf }
      throw new RpcError('not_found', `nothing is known of a container ${JSON.stringify(idOrName)}`)
    },
    summary: () =>
      Object.entries(store.value.containers).map(([id, own]) => summaryOf(id, own, stateOf(id, own))),
    routes: () =>
      Object.entries(store.value.containers).map(([id, container]) => ({
        id,
        prefixes: prefixesOf(container),
        container,
        service: serviceOf(id, container),
      })),
    resume() {
      const run = async () => {
        const { containers, contents } = store.value
        const all = Object.entries(containers)
        const running = new Map(
          all.filter(([, each]) => mayRun(each)).map(([id, { revision }]) => [id, revision]),
        )
        const digests = new Set(Object.keys(contents))
        for (const kind of new Set<'function' | 'oci'>([
          'function',
          ...Object.values(contents).map((each) => each.kind),
        ])) {
          await engines[kind]
            .recover(running, digests)
            .catch((cause) => parts.onNotRecovered({ kind, cause }))
        }
        for (const [id, kind] of Object.entries(store.value.leaving))
          await removeData(id, kind).catch((cause) => parts.onNotRecovered({ id, cause }))
        if (isClosing) return
        for (const [id, container] of all) if (mayRun(container)) serviceOf(id, container).resume()
      }
      const done = run()
        .catch((cause) => parts.onNotRecovered({ cause }))
        .finally(() => {
          resuming = undefined
        })
      resuming = done
      return done
    },
    async followAccount() {
      await resuming
      // Each on its own: one that fails or hangs must not keep another one running.
      const ids = new Set([...Object.keys(store.value.containers), ...entries.keys()])
      await Promise.all(
        [...ids].map((id) =>
          turns
            .takeAnyway(id, () => inside(id, ({ service }) => followWith(id, service)))
            .catch((cause) => reportFailure('containers.followAccount', cause)),
        ),
      )
    },
    async close() {
      isClosing = true
      await resuming
      clearInterval(ticking)
      await Promise.all([...entries.values()].map(({ service }) => service?.stop(true)))
      await storage.close()
    },
  }
}
