/** What happened to containers, and why: every change is stored with its reason. */
import { type HistoryEntry, type LogLine, RpcError } from '@selvedge/protocol'
import { redactText } from '@selvedge/protocol/redaction'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import type { Learned } from '@selvedge/service-kit/store'
import { dataKeysOf } from '../deployments/data-keys.ts'
import {
  type Content,
  type DeploymentStore,
  type Deployments,
  type HistoryItem,
  type StoredContainer,
  withHistory,
  without,
  withoutUnused,
} from '../deployments/deployments.ts'
import type { Owner } from '../deployments/ownership.ts'
import { newest, separator } from '../engines/last-output.ts'
import type { PathOwners } from './path-owners.ts'
import type { Happening } from './restarts.ts'

/** Maximum characters of a reason. */
const maxReason = 1000

export interface History {
  item(event: string, rule: string, detail: string, by?: Owner): HistoryItem
  /**
   * Makes a container, or one in the place of another. Resolves when it is on the disk, with what happened.
   *
   * @param content of its image: another deployment may have replaced it in the document since the container was planned
   * @param make gives the container, from the document as it is when the change is made. If it throws, nothing is changed
   * @throws StoreError, and what `make` throws
   */
  put(
    key: string,
    content: Content,
    make: (value: Deployments) => StoredContainer,
    happened: HistoryItem,
  ): Promise<void>
  /**
   * Makes several containers and removes others, in one change of the document: all of it is on the disk, or nothing.
   *
   * @param expect called with the document as it is when the change is made. If it throws, nothing is changed
   * @param leaving data that is still to be removed, beside that of the removed containers
   * @throws StoreError, and what `expect` throws
   */
  putAll(
    made: readonly Made[],
    removed: readonly { readonly key: string; readonly happened: HistoryItem }[],
    expect: (value: Deployments) => void,
    leaving?: Deployments['leaving'],
  ): Promise<void>
  /**
   * Changes a container that is there.
   *
   * @param make gets it as it is when the change is made: what the runtime noted since the caller read it stays
   * @throws RpcError `not_found` if it was removed meanwhile; StoreError, and what `make` throws
   */
  change(
    key: string,
    make: (container: StoredContainer) => StoredContainer,
    happened: HistoryItem,
  ): Promise<void>
  /**
   * Changes several containers in one change of the document.
   *
   * @throws as `change`; then nothing is changed
   */
  changeAll(changes: readonly Changed[]): Promise<void>
  /** What the runtime did by itself. @param last lines of the container's log */
  report(key: string, happening: Happening, last: readonly LogLine[]): void
  /** Oldest first; undefined for a container that never was. */
  of(key: string): HistoryEntry[] | undefined
}

/** A container that is deployed with others. */
interface Made {
  readonly key: string
  readonly container: StoredContainer
  /** Of its image. */
  readonly content: Content
  readonly happened: HistoryItem
}

/** A container that is changed with others. */
interface Changed {
  readonly key: string
  /** As of `change`. */
  readonly make: (container: StoredContainer) => StoredContainer
  readonly happened: HistoryItem
}

/** The document with a container, in the place of the one before. @param contents that it may have lost meanwhile */
function withContainer(
  value: Deployments,
  key: string,
  container: StoredContainer,
  happened: HistoryItem,
  contents: Deployments['contents'],
): Deployments {
  const next = {
    ...value,
    contents: { ...contents, ...value.contents },
    containers: { ...value.containers, [key]: container },
    leaving: dataKeysOf(container).reduce(without<Content['kind']>, value.leaving),
  }
  return withHistory(withoutUnused(next), key, happened)
}

/** The document without a container. Its data is still to be removed. */
export function withoutContainer(value: Deployments, key: string, happened: HistoryItem): Deployments {
  const { [key]: container } = value.containers
  if (!container) return value
  const { kind } = value.contents[container.digest]!
  const next = {
    ...value,
    containers: without(value.containers, key),
    leaving: { ...value.leaving, [container.dataKey]: kind },
  }
  return withHistory(withoutUnused(next), key, happened)
}

function putAll(
  paths: PathOwners,
  ...[made, removed, expect, leaving = {}]: Parameters<History['putAll']>
): Promise<void> {
  const next = new Map<string, StoredContainer | undefined>([
    ...removed.map(({ key }) => [key, undefined] as const),
    ...made.map(({ key, container }) => [key, container] as const),
  ])
  return paths.change(next, (value) => {
    expect(value)
    const before = { ...value, leaving: { ...value.leaving, ...leaving } }
    const left = removed.reduce((all, { key, happened }) => withoutContainer(all, key, happened), before)
    return made.reduce(
      (all, { key, container, content, happened }) =>
        withContainer(all, key, container, happened, { [content.config.digest]: content }),
      left,
    )
  })
}

function changed({ containers }: Deployments, { key, make }: Changed): StoredContainer {
  const container = containers[key]
  if (container) return make(container)
  throw new RpcError('not_found', 'the container was removed meanwhile')
}

async function changeAll(
  paths: PathOwners,
  { value: present }: Pick<DeploymentStore, 'value'>,
  changes: readonly Changed[],
): Promise<void> {
  const next = new Map(changes.map((each) => [each.key, changed(present, each)]))
  await paths.change(next, (value) =>
    changes.reduce((all, each) => withContainer(all, each.key, changed(all, each), each.happened, {}), value),
  )
}

/** Lines of the log of a container in which its last words are searched. */
export const linesOfReason = 30

/** What a container wrote last, unless the reason contains it. @param last lines of its log */
export function lastWords(reason: string, last: readonly LogLine[]): readonly string[] {
  const words = newest(last.filter(({ stream }) => stream !== 'runtime').map(({ text }) => text))
  return words.length === 0 || reason.includes(words.at(-1)!) ? [] : words
}

export function createHistory(parts: {
  readonly store: DeploymentStore
  readonly paths: PathOwners
  readonly clock: Clock
  /** Writes what happened by itself as soon as the disk accepts it. */
  readonly learned: Learned<Deployments>
  /** Called when a container was given up. */
  readonly onFailed: () => void
  /** Called with each event that is not of a caller. */
  readonly onEvent: (event: string) => void
}): History {
  const { store, paths, clock, learned } = parts

  const item: History['item'] = (event, rule, detail, by) => ({
    at: clock.now(),
    event,
    rule,
    by: by ? { accountId: by.account_id, clientId: by.client_id } : null,
    detail: redactText(detail),
  })

  const write = async (
    key: string,
    make: (value: Deployments) => StoredContainer,
    happened: HistoryItem,
    contents: Deployments['contents'] = {},
  ) =>
    paths.change(new Map([[key, make(store.value)]]), (value) =>
      withContainer(value, key, make(value), happened, contents),
    )

  return {
    item,
    putAll: (...change) => putAll(paths, ...change),
    put: (key, content, make, happened) => write(key, make, happened, { [content.config.digest]: content }),
    changeAll: (changes) => changeAll(paths, store, changes),
    change: (key, make, happened) => changeAll(paths, store, [{ key, make, happened }]),
    report(key, { event, rule, detail, failed, restart }, last) {
      const reason = redactText([detail, ...lastWords(detail, last)].join(separator)).slice(0, maxReason)
      const happened = item(event, rule, reason)
      parts.onEvent(event)
      const apply = (value: Deployments): Deployments => {
        const container = value.containers[key]
        // One that was removed may still have to be killed. Of a removed account there is no history.
        if (!container) return value.history[key] ? withHistory(value, key, happened) : value
        const restarts = container.restarts + (restart ? 1 : 0)
        const next = { ...container, restarts, failed: failed ? reason : container.failed }
        return withHistory({ ...value, containers: { ...value.containers, [key]: next } }, key, happened)
      }
      // An event counts even if the write fails: the next write contains it, too.
      store.updateLazily(apply)
      if (!failed) return
      // Only that a container has failed must be known after a power cut.
      learned.learn('failures', (value) => value)
      parts.onFailed()
    },
    of: (key) => store.value.history[key]?.map(({ at, ...rest }) => ({ time: isoTime(at), ...rest })),
  }
}
