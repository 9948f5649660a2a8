/** What owners, the gateway and the registry see of containers. */
import {
  type ContainerRecord,
  type ContainerSettings,
  type ContainerStatus,
  type HistoryEntry,
  type LogLine,
  RpcError,
  readSettings,
} from '@selvedge/protocol'
import type { DeploymentStore, StoredContainer } from '../deployments/deployments.ts'
import { askedKey, idOf, idOfKey, isOwnedBy, keyOf, type Owner, ofAccount } from '../deployments/ownership.ts'
import type { Entries } from './entries.ts'
import type { History } from './history.ts'
import type { ContainerLog } from './logs.ts'
import { findOwned } from './owned.ts'
import { ownPrefixesOf } from './path-owners.ts'
import type { ServiceSummary } from './record.ts'
import type { Service } from './service.ts'

/** A line of a log, with the container that wrote it. */
interface OwnedLine extends LogLine {
  readonly id: string
}

/** A container as the gateway sees it. */
export interface Route {
  /** As callers know it. */
  readonly id: string
  /** Paths under which it answers. */
  readonly prefixes: readonly string[]
  readonly container: StoredContainer
  readonly settings: ContainerSettings
  readonly service: Service
  /** Whether its owner stopped it, by the current document. */
  readonly isStopped: () => boolean
}

export interface Views {
  list(owner: Owner): Promise<ContainerRecord[]>
  /** The state of each, without members that need a query of the system. */
  statuses(owner: Owner): ContainerStatus[]
  get(owner: Owner, idOrName: string): Promise<ContainerRecord>
  logs(owner: Owner, idOrName: string): ContainerLog
  /** The last lines of all containers of an owner, oldest first. */
  lastLines(owner: Owner, count: number): OwnedLine[]
  /** Calls for each line that a container of an owner writes from now on. @returns what to call when no more are needed */
  followLogs(owner: Owner, onLine: (line: OwnedLine) => void): () => void
  /** Also of a container that was removed. */
  history(owner: Owner, idOrName: string): { history: HistoryEntry[] }
  /** Those of the associated account. */
  routes(): readonly Route[]
  /** A short summary of each container of the associated account, for the registry. */
  summary(): ServiceSummary[]
}

/** @param accountId gives the associated account */
export function createViews(
  store: DeploymentStore,
  entries: Entries,
  history: History,
  accountId: () => string,
): Views {
  const present = () => ofAccount(store.value.containers, accountId())

  return {
    list: (owner) =>
      Promise.all(
        Object.entries(store.value.containers)
          .filter(([, container]) => isOwnedBy(container, owner))
          .map(([key]) => entries.record(key)),
      ),
    statuses: (owner) =>
      Object.entries(store.value.containers)
        .filter(([, container]) => isOwnedBy(container, owner))
        .map(([key, container]) => entries.status(key, container)),
    lastLines: (owner, count) =>
      Object.entries(store.value.containers)
        .filter(([, container]) => isOwnedBy(container, owner))
        .flatMap(([key, container]) =>
          entries
            .of(key)
            .log.tail(count)
            .map((line) => ({ id: idOf(container), ...line })),
        )
        .sort((one, other) => (one.time < other.time ? -1 : one.time > other.time ? 1 : 0))
        .slice(-count),
    followLogs: (owner, onLine) =>
      entries.followLogs(keyOf(owner, ''), (key, line) => onLine({ id: idOfKey(owner, key), ...line })),
    get: async (owner, idOrName) => entries.record(findOwned(store.value, owner, idOrName)[0]),
    logs: (owner, idOrName) => entries.of(findOwned(store.value, owner, idOrName)[0]).log,
    history(owner, idOrName) {
      const known = history.of(askedKey(owner, idOrName))
      if (known) return { history: known }
      throw new RpcError('not_found', `nothing is known of a container ${JSON.stringify(idOrName)}`)
    },
    routes: () =>
      present().map(([key, container]) => {
        const settings = readSettings(container.env)
        return {
          id: idOf(container),
          prefixes: ownPrefixesOf(store.value, container),
          container,
          settings,
          service: entries.serviceOf(key, container),
          isStopped: () => store.value.containers[key]?.wanted === 'stopped',
        }
      }),
    summary: () => present().map(([key, container]) => entries.summary(key, container)),
  }
}
