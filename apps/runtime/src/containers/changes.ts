/** Starts, stops and removes containers for their owners. */
import type { ContainerRecord } from '@selvedge/protocol'
import { type Content, withHistory, without, withoutUnused } from '../deployments/deployments.ts'
import type { Entries, Entry, EntryParts } from './entries.ts'
import type { History } from './history.ts'
import { expectOfAccount, findOwned, idOf, type Owner } from './owned.ts'

export interface ChangeParts extends Pick<EntryParts, 'store' | 'clock' | 'accountId'> {
  readonly entries: Entries
  readonly history: History
  /** Runs a change of a container when all earlier ones are done. @throws RpcError `busy` if too many wait */
  readonly inTurn: <T>(id: string, work: (entry: Entry, id: string) => Promise<T>) => Promise<T>
  /** Removes the volumes and the storage of a removed container. */
  readonly removeData: (id: string, kind: Content['kind']) => Promise<void>
  /** Called when a container was deployed, changed or removed. */
  readonly onChange: () => void
}

export interface Changes {
  start(owner: Owner, idOrName: string): Promise<ContainerRecord>
  stop(owner: Owner, idOrName: string): Promise<ContainerRecord>
  remove(owner: Owner, idOrName: string): Promise<{ id: string }>
}

export function createChanges(parts: ChangeParts): Changes {
  const { store, entries, history, inTurn, removeData, onChange } = parts

  async function start(owner: Owner, id: string): Promise<ContainerRecord> {
    const container = findOwned(store.value, owner, id)
    const service = entries.serviceOf(id, container)
    if (service.running()) return entries.record(id)
    expectOfAccount(container, parts.accountId())
    const running = await service.prepare(entries.planOf(id, container))
    try {
      await history.change(
        id,
        ({ containers }) => {
          expectOfAccount(container, parts.accountId())
          return { ...(containers[id] ?? container), wanted: 'running', failed: null }
        },
        history.item('started', 'startContainer', `revision ${container.revision}`, owner),
      )
    } catch (cause) {
      await service.discard(running)
      throw cause
    }
    await service.switchTo(running)
    onChange()
    return entries.record(id)
  }

  async function stop(owner: Owner, entry: Entry, id: string): Promise<ContainerRecord> {
    const container = findOwned(store.value, owner, id)
    await history.change(
      id,
      ({ containers }) => ({ ...(containers[id] ?? container), wanted: 'stopped', failed: null }),
      history.item('stopped', 'stopContainer', '', owner),
    )
    await entry.service?.stop()
    onChange()
    return entries.record(id)
  }

  async function remove(owner: Owner, entry: Entry, id: string): Promise<{ id: string }> {
    const container = findOwned(store.value, owner, id)
    const { kind } = store.value.contents[container.digest]!
    await store.update((value) =>
      withHistory(
        withoutUnused({
          ...value,
          containers: without(value.containers, id),
          leaving: { ...value.leaving, [id]: kind },
        }),
        id,
        history.item('removed', 'removeContainer', '', owner),
      ),
    )
    onChange()
    await entry.service?.stop()
    await removeData(id, kind)
    return { id }
  }

  return {
    start: (owner, idOrName) => inTurn(idOf(owner, idOrName), (_, id) => start(owner, id)),
    stop: (owner, idOrName) => inTurn(idOf(owner, idOrName), (entry, id) => stop(owner, entry, id)),
    remove: (owner, idOrName) => inTurn(idOf(owner, idOrName), (entry, id) => remove(owner, entry, id)),
  }
}
