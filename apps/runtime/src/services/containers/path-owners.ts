/**
 * Each path of the gateway has one owner: a project of an account. What is at, above and below it belongs to the same project. A path
 * that a container gives up stays its project's for a day, so that callers who do not know yet send no other project their tokens.
 */
import type { Deployments, HeldPath, StoredContainer } from '../deployments/deployments.ts'
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
 * @param before the container that it replaces: what that one answers at remains its own
 */
export function findTaken(
  value: Deployments,
  before: StoredContainer | undefined,
  next: StoredContainer,
  now: number,
): TakenPath | undefined {
  const own = before ? ownPrefixesOf(value, before) : []
  for (const path of prefixesOf(next)) {
    if (own.includes(path)) continue
    const other = findOther(value, next, path, () => true)
    if (other) return { path, clientId: other.clientId }
    const held = value.heldPaths.find(
      (each) =>
        each.accountId === next.accountId &&
        each.clientId !== next.clientId &&
        each.until > now &&
        overlap(each.path, path),
    )
    if (held) return { path, clientId: held.clientId, until: held.until }
  }
  return undefined
}

/**
 * The document with a container in the place of another one, or without it. What it does not answer at any more is held.
 *
 * @param next undefined removes the container
 */
export function withContainer(
  value: Deployments,
  key: string,
  next: StoredContainer | undefined,
  now: number,
): Deployments {
  const { [key]: before, ...others } = value.containers
  const containers = next ? { ...value.containers, [key]: next } : others
  return { ...value, containers, heldPaths: before ? heldAfter(value, before, next, now) : value.heldPaths }
}

function heldAfter(
  value: Deployments,
  before: StoredContainer,
  next: StoredContainer | undefined,
  now: number,
): HeldPath[] {
  const present = next ? prefixesOf(next) : []
  const left = ownPrefixesOf(value, before).filter((path) => !present.includes(path))
  if (left.length === 0) return value.heldPaths
  const { accountId, clientId } = before
  const until = now + heldMs
  const valid = value.heldPaths.filter((each) => each.until > now)
  const own = valid.filter((each) => isOfSameProject(each, before) && !left.includes(each.path))
  return [
    ...valid.filter((each) => !isOfSameProject(each, before)),
    ...[...own, ...left.map((path) => ({ accountId, clientId, path, until }))].slice(-maxHeld),
  ]
}
