/** What owners, the gateway and the registry see of containers. */
import { type ContainerRecord, type HistoryEntry, RpcError } from '@selvedge/protocol'
import type { DeploymentStore, StoredContainer } from '../deployments/deployments.ts'
import type { Entries } from './entries.ts'
import type { History } from './history.ts'
import type { ContainerLog } from './logs.ts'
import { findOwned, idOf, type Owner } from './owned.ts'
import { prefixesOf } from './paths.ts'
import { type ServiceSummary, summaryOf } from './record.ts'
import type { Service } from './service.ts'

/** A container as the gateway sees it. */
export interface Route {
  readonly id: string
  /** Paths under which it answers. */
  readonly prefixes: readonly string[]
  readonly container: StoredContainer
  readonly service: Service
}

export interface Views {
  list(owner: Owner): Promise<ContainerRecord[]>
  get(owner: Owner, idOrName: string): Promise<ContainerRecord>
  logs(owner: Owner, idOrName: string): ContainerLog
  /** Also of a container that was removed. */
  history(owner: Owner, idOrName: string): { history: HistoryEntry[] }
  routes(): readonly Route[]
  /** A short summary of every container, for the registry. */
  summary(): ServiceSummary[]
}

export function createViews(store: DeploymentStore, entries: Entries, history: History): Views {
  function ownIdOf(owner: Owner, idOrName: string): string {
    const id = idOf(owner, idOrName)
    findOwned(store.value, owner, id)
    return id
  }
  const all = () => Object.entries(store.value.containers)

  return {
    list: (owner) =>
      Promise.all(
        all()
          .filter(([, { clientId }]) => clientId === owner.client_id)
          .map(([id]) => entries.record(id)),
      ),
    get: async (owner, idOrName) => entries.record(ownIdOf(owner, idOrName)),
    logs: (owner, idOrName) => entries.of(ownIdOf(owner, idOrName)).log,
    history(owner, idOrName) {
      const known = history.of(idOf(owner, idOrName))
      if (known) return { history: known }
      throw new RpcError('not_found', `nothing is known of a container ${JSON.stringify(idOrName)}`)
    },
    routes: () =>
      all().map(([id, container]) => ({
        id,
        prefixes: prefixesOf(container),
        container,
        service: entries.serviceOf(id, container),
      })),
    summary: () => all().map(([id, container]) => summaryOf(id, container, entries.stateOf(id, container))),
  }
}
