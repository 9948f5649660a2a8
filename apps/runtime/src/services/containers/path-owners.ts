/**
 * Each path of the gateway has one owner: a project of an account. What is at, above and below it belongs to the same project. A path
 * that a container gives up stays its project's for a day, so that callers who do not know yet send no other project their tokens.
 */
import type { Clock } from '@selvedge/service-kit/clock'
import type { DeploymentStore, Deployments, StoredContainer } from '../deployments/deployments.ts'
import type { HeldPath, HeldPathStore } from '../deployments/held-paths.ts'
import { type Owned, ofAccount } from '../deployments/ownership.ts'
import { prefixesOf } from './paths.ts'

const heldMs = 24 * 60 * 60 * 1000
/** Maximum paths that are held for one project: beyond that its oldest are free. */
const maxHeld = 400

const isAtOrBelow = (path: string, other: string): boolean => path === other || path.startsWith(`${other}/`)

/** Whether one path is at, above or below the other one, in whole segments. */
const overlap = (one: string, other: string): boolean => isAtOrBelow(one, other) || isAtOrBelow(other, one)

const isOfSameProject = (one: Owned, other: Owned): boolean =>
  one.accountId === other.accountId && one.clientId === other.clientId

/** In the order of the projects' IDs if both were created in the same millisecond. */
const isOlder = (one: StoredContainer, other: StoredContainer): boolean =>
  one.created === other.created ? one.clientId < other.clientId : one.created < other.created

/** The first container of another project of the account at, above or below a path. */
function findOther(
  value: Deployments,
  owner: Owned,
  path: string,
  isCounted: (other: StoredContainer) => boolean,
): StoredContainer | undefined {
  return ofAccount(value.containers, owner.accountId).find(
    ([, other]) =>
      !isOfSameProject(other, owner) &&
      isCounted(other) &&
      prefixesOf(other).some((prefix) => overlap(prefix, path)),
  )?.[1]
}

/**
 * The paths at which a stored container answers. Earlier releases accepted containers within the paths of other projects: the
 * older container keeps such a path.
 */
export const ownPrefixesOf = (value: Deployments, container: StoredContainer): string[] =>
  prefixesOf(container).filter(
    (path) => !findOther(value, container, path, (other) => isOlder(other, container)),
  )

export interface TakenPath {
  readonly path: string
  readonly clientId: string
  /** Unix milliseconds at which it is free; undefined while a container has it. */
  readonly until?: number
}

/**
 * The first path of a container that belongs to another project.
 *
 * @param held paths that are held now
 * @param before the container that it replaces: what that one answers at remains its own
 */
export function findTaken(
  value: Deployments,
  held: readonly HeldPath[],
  before: StoredContainer | undefined,
  next: StoredContainer,
): TakenPath | undefined {
  const own = before ? ownPrefixesOf(value, before) : []
  for (const path of prefixesOf(next)) {
    if (own.includes(path)) continue
    const other = findOther(value, next, path, () => true)
    if (other) return { path, clientId: other.clientId }
    const left = held.find(
      (each) =>
        each.accountId === next.accountId && each.clientId !== next.clientId && overlap(each.path, path),
    )
    if (left) return { path, clientId: left.clientId, until: left.until }
  }
  return undefined
}

/** What changes of containers need to know, and to state, about the owners of paths. */
export interface PathOwners {
  /** The paths that are held now. */
  held(): HeldPath[]
  /**
   * Changes the deployments so that containers replace others, or are removed. The paths at which they do not answer
   * any more are held before they are free: no power cut and no other change comes between.
   *
   * @param next by key; undefined removes the container
   * @throws StoreError; then a path may be held although its container is still there. Also what the change throws
   */
  change(
    next: ReadonlyMap<string, StoredContainer | undefined>,
    change: (value: Deployments) => Deployments,
  ): Promise<void>
  /** Holds nothing for an account any more. @throws StoreError */
  forget(accountId: string): Promise<void>
}

export function createPathOwners(parts: {
  readonly store: DeploymentStore
  readonly heldPaths: HeldPathStore
  readonly clock: Clock
}): PathOwners {
  const { store, heldPaths, clock } = parts

  async function hold(key: string, next: StoredContainer | undefined): Promise<void> {
    const apply = (held: readonly HeldPath[]) => heldAfter(store.value, held, key, next, clock.now())
    if (apply(heldPaths.value) !== heldPaths.value) await heldPaths.update(apply)
  }

  return {
    held: () => heldNow(heldPaths.value, clock.now()),
    async change(next, change) {
      for (const [key, container] of next) await hold(key, container)
      await store.update(change)
    },
    async forget(accountId) {
      if (heldPaths.value.some((each) => each.accountId === accountId))
        await heldPaths.update((held) => held.filter((each) => each.accountId !== accountId))
    },
  }
}

/** The paths that are still held. A time that is too far ahead is of a clock that was wrong: such a path is free. */
export const heldNow = (held: readonly HeldPath[], now: number): HeldPath[] =>
  held.filter(({ until }) => until > now && until - now <= 2 * heldMs)

/** What is held when a container replaces another one: the same list if no path is given up. */
export function heldAfter(
  value: Deployments,
  held: readonly HeldPath[],
  key: string,
  next: StoredContainer | undefined,
  now: number,
): readonly HeldPath[] {
  const before = value.containers[key]
  if (!before) return held
  const present = next ? prefixesOf(next) : []
  const left = ownPrefixesOf(value, before).filter((path) => !present.includes(path))
  if (left.length === 0) return held
  const { accountId, clientId } = before
  const until = now + heldMs
  const valid = heldNow(held, now)
  const own = valid.filter((each) => isOfSameProject(each, before) && !left.includes(each.path))
  return [
    ...valid.filter((each) => !isOfSameProject(each, before)),
    ...[...own, ...left.map((path) => ({ accountId, clientId, path, until }))].slice(-maxHeld),
  ]
}
