/** Containers on the device. The document holds the desired state; the runtime follows it. */
import { RpcError } from '@selvedge/protocol'
import type { Log } from '@selvedge/service-kit/log'
import { reportFailure } from '@selvedge/service-kit/safely'
import { createLearned } from '@selvedge/service-kit/store'
import { withoutAccount } from '../deployments/deployments.ts'
import type { HeldPathStore } from '../deployments/held-paths.ts'
import { isKeyOf } from '../deployments/ownership.ts'
import { createTurns } from '../turns.ts'
import { type Changes, createChanges } from './changes.ts'
import { createDeploy, createDeploySteps, type Deploys } from './deploy.ts'
import { createEntries, type Entries, type Entry, type EntryParts, noteIn } from './entries.ts'
import { createHistory } from './history.ts'
import { createOnceRuns } from './once-runs.ts'
import { isOfAccount } from './owned.ts'
import { createPathOwners } from './path-owners.ts'
import { recover, removeData, removeLeaving } from './recovery.ts'
import { createRenewals, type Renewals } from './renewals.ts'
import type { Service } from './service.ts'
import { createTogether, type Together } from './together/together.ts'
import { createViews, type Views } from './views.ts'

export interface Containers extends Changes, Views, Renewals, Together {
  readonly deploy: Deploys['deploy']
  readonly redeploy: Deploys['redeploy']
  /** Writes a line of the runtime to the log of a container. @param key of a container in the document; otherwise nothing is written */
  note(key: string, text: string): void
  /** Recovers what an earlier run left and starts what is wanted; requests wait until it resolves. Never rejects. */
  resume(): Promise<void>
  /** Call it when the associated account changed: containers of that account start, all others stop. */
  followAccount(): Promise<void>
  /**
   * Removes all that belongs to an account: containers, what they stored, history, images. Resolves when it is gone, with what
   * `leave` gives.
   *
   * @param leave takes the account from the runtime, once it is on the disk that its things are to go
   */
  wipe<T>(accountId: string, leave: () => Promise<T>): Promise<T>
  /**
   * Stops everything that runs, and changes nothing about what is wanted.
   *
   * @param isReplaced whether a runtime of another release starts next: what can outlive this one continues
   */
  close(isReplaced: boolean): Promise<void>
}

export interface ContainerParts extends EntryParts {
  readonly heldPaths: HeldPathStore
  /** The app that a container belongs to, by the key of the container. */
  readonly appNameOf: (key: string) => string | undefined
  readonly log: Log
  /** Called when containers were deployed, changed or removed: routes change, and images may not be used any more. */
  readonly onChange: () => void
  /** Called when a container was given up. */
  readonly onFailed: () => void
  /** Called with each event that is not of a caller, such as a restart. */
  readonly onEvent: (event: string) => void
  /** Called when something of an earlier run could not be removed; it is tried again at the next start. */
  readonly onNotRecovered: (details: object) => void
}

/** Maximum changes of one container that wait for each other. */
const maxQueue = 16

/** Starts a container of the associated account, stops one of any other. */
async function followAccount(
  { store, accountId }: ContainerParts,
  { mayRun, serviceOf }: Entries,
  key: string,
  service: Service | undefined,
): Promise<void> {
  const container = store.value.containers[key]
  if (!container || !isOfAccount(container, accountId())) await service?.stop()
  else if (mayRun(container) && !service?.running()) serviceOf(key, container).resume()
}

/** Single containers are changed one by one, and those of an app together. */
const createExpectSingle =
  ({ appNameOf }: ContainerParts) =>
  (key: string, instead: string): void => {
    const app = appNameOf(key)
    if (app === undefined) return
    const name = decodeURIComponent(key.slice(key.lastIndexOf('/') + 1))
    throw new RpcError('conflict', `the container ${name} belongs to the app ${app}: ${instead}`, {
      hint: 'Deploy the app again, or remove it.',
    })
  }

export function createContainers(parts: ContainerParts): Containers {
  const { store, storage, log, onNotRecovered } = parts
  let isClosing = false
  let resuming: Promise<void> | undefined
  const paths = createPathOwners(parts)
  const learned = createLearned(store, { where: 'containers.failed', log })
  const history = createHistory({ ...parts, paths, learned })
  const entries = createEntries(parts, history, () => resuming)
  const turns = createTurns(maxQueue)
  const onceRuns = createOnceRuns()

  /** No change begins before what an earlier run left is recovered. */
  async function inside<T>(key: string, work: (entry: Entry, key: string) => Promise<T>): Promise<T> {
    await resuming
    try {
      return await work(entries.of(key), key)
    } finally {
      await entries.dropIfRemoved(key)
    }
  }
  const takeAnyway = (key: string, work: (entry: Entry, key: string) => Promise<void>) =>
    turns.takeAnyway(key, () => inside(key, work))
  const changeParts = {
    ...parts,
    expectSingle: createExpectSingle(parts),
    entries,
    history,
    paths,
    inTurn: <T>(key: string, work: (entry: Entry, key: string) => Promise<T>) =>
      turns.take(key, () => inside(key, work)),
    removeData: (dataKey: string, kind: 'function' | 'oci') => removeData(parts, dataKey, kind),
  }

  async function resume(): Promise<void> {
    await recover(parts, entries, onNotRecovered)
    if (isClosing) return
    for (const [key, container] of Object.entries(store.value.containers))
      if (entries.mayRun(container)) entries.serviceOf(key, container).resume()
  }

  /** Each container by itself: one that fails or hangs must not hold up another one. */
  async function forEach(
    keys: readonly string[],
    work: (key: string, entry: Entry) => Promise<void>,
  ): Promise<void> {
    const each = (key: string) =>
      turns
        .takeAnyway(key, () => inside(key, (entry) => work(key, entry)))
        .catch((cause) => reportFailure('containers.followAccount', cause))
    await Promise.all([...new Set(keys)].map(each))
  }

  async function wipe<T>(accountId: string, leave: () => Promise<T>): Promise<T> {
    const forget = async () => {
      await store.update((value) => withoutAccount(value, accountId, parts.sharedDataOf(accountId)))
      await Promise.all([paths.forget(accountId), parts.secrets.forget(accountId)])
    }
    await resuming
    await forget()
    const left = leave()
    await Promise.allSettled([left])
    // Their deployment has the turn of its containers.
    await onceRuns.stop((each) => each.accountId === accountId)
    // After the changes that were under way: they may have put something back before the account left.
    const keys = entries.keys().filter((key) => isKeyOf(key, accountId))
    await forEach(keys, async (_, { service }) => service?.stop())
    await forget()
    await removeLeaving(parts, onNotRecovered)
    parts.onChange()
    return left
  }

  const steps = createDeploySteps(changeParts)
  const { deploy, redeploy, renew } = createDeploy(changeParts, steps)
  return {
    ...{ wipe, deploy, redeploy },
    note: (key, text) => {
      if (store.value.containers[key]) noteIn(entries.of(key), text)
    },
    ...createRenewals({ store, entries, renew, takeAnyway }),
    ...createChanges(changeParts),
    ...createTogether(changeParts, steps, onceRuns),
    ...createViews(store, entries, history, parts.accountId),
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
      parts.onChange()
      await onceRuns.stop((each) => each.accountId !== parts.accountId())
      const keys = [...Object.keys(store.value.containers), ...entries.keys()]
      await forEach(keys, (key, { service }) => followAccount(parts, entries, key, service))
    },
    async close(isReplaced) {
      isClosing = true
      await resuming
      await Promise.all([entries.close(isReplaced), onceRuns.close()])
      await Promise.all([storage.close(), learned.stop()])
    },
  }
}
