/** Starts, stops and removes containers for their owners. */
import { type ContainerRecord, RpcError } from '@selvedge/protocol'
import type { Content, StoredContainer } from '../deployments/deployments.ts'
import { askedKey, idOf, type Owner } from '../deployments/ownership.ts'
import { completedOf, type Entries, type Entry, type EntryParts } from './entries.ts'
import { type History, withoutContainer } from './history.ts'
import { expectOfAccount, findOwned } from './owned.ts'
import type { PathOwners } from './path-owners.ts'

export interface ChangeParts
  extends Pick<
    EntryParts,
    | 'store'
    | 'engines'
    | 'clock'
    | 'accountId'
    | 'hold'
    | 'describeDownload'
    | 'ports'
    | 'schedules'
    | 'completionOf'
  > {
  readonly entries: Entries
  readonly history: History
  readonly paths: PathOwners
  /** Runs a change of a container when all earlier ones are done. @throws RpcError `busy` if too many wait */
  readonly inTurn: <T>(key: string, work: (entry: Entry, key: string) => Promise<T>) => Promise<T>
  /** Removes the volumes and the storage of a removed container. */
  readonly removeData: (dataKey: string, kind: Content['kind']) => Promise<void>
  /**
   * @param instead what changes a member of an app
   * @throws RpcError `conflict` for a container that belongs to an app
   */
  readonly expectSingle: (key: string, instead: string) => void
  /** Called when a container was deployed, changed or removed. */
  readonly onChange: () => void
}

export interface Changes {
  start(owner: Owner, idOrName: string): Promise<ContainerRecord>
  stop(owner: Owner, idOrName: string): Promise<ContainerRecord>
  remove(owner: Owner, idOrName: string): Promise<{ id: string }>
}

/** @throws RpcError `conflict` for a member of an app that ran once */
function expectNotCompleted(parts: ChangeParts, key: string, container: StoredContainer): void {
  if (completedOf(parts, key, container))
    throw new RpcError(
      'conflict',
      `${idOf(container)} ran once, and has completed: it does not start again`,
      {
        hint: 'Deploy its app with another image, or with other settings, to run it again.',
      },
    )
}

export function createChanges(parts: ChangeParts): Changes {
  const { store, entries, history, inTurn, removeData, onChange } = parts

  async function start(owner: Owner, idOrName: string): Promise<ContainerRecord> {
    const [key, container] = findOwned(store.value, owner, idOrName)
    const service = entries.serviceOf(key, container)
    if (service.running()) return entries.record(key)
    expectOfAccount(container, parts.accountId())
    expectNotCompleted(parts, key, container)
    const running = await service.prepare(entries.planOf(key, container))
    try {
      await history.change(
        key,
        (present) => {
          expectOfAccount(present, parts.accountId())
          return { ...present, wanted: 'running', failed: null }
        },
        history.item('started', 'startContainer', `revision ${container.revision}`, owner),
      )
    } catch (cause) {
      await service.discard(running)
      throw cause
    }
    await service.switchTo(running)
    onChange()
    return entries.record(key)
  }

  async function stop(owner: Owner, entry: Entry, idOrName: string): Promise<ContainerRecord> {
    const [key] = findOwned(store.value, owner, idOrName)
    await history.change(
      key,
      (container) => ({ ...container, wanted: 'stopped', failed: null }),
      history.item('stopped', 'stopContainer', '', owner),
    )
    await entry.service?.stop()
    onChange()
    return entries.record(key)
  }

  async function remove(owner: Owner, entry: Entry, idOrName: string): Promise<{ id: string }> {
    const [key, container] = findOwned(store.value, owner, idOrName)
    const { dataKey } = container
    const { kind } = store.value.contents[container.digest]!
    parts.expectSingle(key, 'removeApp removes it with the others')
    const happened = history.item('removed', 'removeContainer', '', owner)
    await parts.paths.change(new Map([[key, undefined]]), (value) => withoutContainer(value, key, happened))
    onChange()
    await entry.service?.stop()
    await removeData(dataKey, kind)
    return { id: idOf(container) }
  }

  const ownTurn = <T>(owner: Owner, idOrName: string, work: (entry: Entry) => Promise<T>) =>
    inTurn(askedKey(owner, idOrName), work)
  return {
    start: (owner, id) => ownTurn(owner, id, () => start(owner, id)),
    stop: (owner, id) => ownTurn(owner, id, (entry) => stop(owner, entry, id)),
    remove: (owner, id) => ownTurn(owner, id, (entry) => remove(owner, entry, id)),
  }
}
