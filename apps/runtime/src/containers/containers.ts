/** Containers on the device. The document says what is wanted; what runs follows it. */
import type { Log } from '@selvedge/service-kit/log'
import { reportFailure } from '@selvedge/service-kit/safely'
import { createTurns } from '../deployments/turns.ts'
import { type Changes, createChanges } from './changes.ts'
import { createDeploy, type Deploy } from './deploy.ts'
import { createEntries, type Entries, type Entry, type EntryParts } from './entries.ts'
import { createHistory } from './history.ts'
import { isOfAccount } from './owned.ts'
import { recover, removeData } from './recovery.ts'
import type { Service } from './service.ts'
import { createViews, type Views } from './views.ts'

export interface Containers extends Changes, Views {
  readonly deploy: Deploy
  /** Recovers what an earlier run left and starts what is wanted; requests wait until it resolves. Never rejects. */
  resume(): Promise<void>
  /** Call it when the associated account changed: containers of that account start, all others stop. */
  followAccount(): Promise<void>
  /** Stops everything that runs, and changes nothing about what is wanted. */
  close(): Promise<void>
}

export interface ContainerParts extends EntryParts {
  readonly log: Log
  /** Called when containers were deployed, changed or removed: routes change, and images may not be used any more. */
  readonly onChange: () => void
  /** Called when a container was given up. */
  readonly onFailed: () => void
  /** Called when something of an earlier run could not be removed; it is tried again at the next start. */
  readonly onNotRecovered: (details: object) => void
}

/** Maximum changes of one container that wait for each other. */
const maxQueue = 16

/** Starts a container of the associated account, stops one of any other. */
async function followAccount(
  { store, accountId }: ContainerParts,
  { mayRun, serviceOf }: Entries,
  id: string,
  service: Service | undefined,
): Promise<void> {
  const container = store.value.containers[id]
  if (!container || !isOfAccount(container, accountId())) await service?.stop()
  else if (mayRun(container) && !service?.running()) serviceOf(id, container).resume()
}

export function createContainers(parts: ContainerParts): Containers {
  const { store, storage, onNotRecovered } = parts
  let isClosing = false
  let resuming: Promise<void> | undefined
  const history = createHistory(parts)
  const entries = createEntries(parts, history, () => resuming)
  const turns = createTurns(maxQueue)

  /** No change begins before what an earlier run left is recovered. */
  async function inside<T>(id: string, work: (entry: Entry, id: string) => Promise<T>): Promise<T> {
    await resuming
    try {
      return await work(entries.of(id), id)
    } finally {
      entries.dropIfRemoved(id)
    }
  }
  const changeParts = {
    ...parts,
    entries,
    history,
    inTurn: <T>(id: string, work: (entry: Entry, id: string) => Promise<T>) =>
      turns.take(id, () => inside(id, work)),
    removeData: (id: string, kind: 'function' | 'oci') => removeData(parts, id, kind),
  }

  async function resume(): Promise<void> {
    await recover(parts, entries, onNotRecovered)
    if (isClosing) return
    for (const [id, container] of Object.entries(store.value.containers))
      if (entries.mayRun(container)) entries.serviceOf(id, container).resume()
  }

  return {
    deploy: createDeploy(changeParts),
    ...createChanges(changeParts),
    ...createViews(store, entries, history),
    resume() {
      const done = resume()
        .catch((cause) => onNotRecovered({ cause }))
        .finally(() => {
          resuming = undefined
        })
      resuming = done
      return done
    },
    async followAccount() {
      await resuming
      // Each container by itself: one that fails or hangs must not keep another one running.
      const ids = new Set([...Object.keys(store.value.containers), ...entries.ids()])
      await Promise.all(
        [...ids].map((id) =>
          turns
            .takeAnyway(id, () => inside(id, ({ service }) => followAccount(parts, entries, id, service)))
            .catch((cause) => reportFailure('containers.followAccount', cause)),
        ),
      )
    },
    async close() {
      isClosing = true
      await resuming
      await entries.close()
      await storage.close()
    },
  }
}
