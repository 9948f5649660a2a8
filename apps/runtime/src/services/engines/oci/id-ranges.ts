/**
 * User and group IDs for the user namespaces of containers. Podman has a part of the IDs of the device for containers: the lines of
 * `containers` in `/etc/subuid` and `/etc/subgid` (subuid(5)). A container gets 65,536 of them that no other container has. The engine
 * stores which: as a label of the container, and of its volumes, so that files in volumes keep their owners.
 */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { RpcError } from '@selvedge/protocol'

/** IDs of one container: as many as images may use. */
export const rangeSize = 65_536
/** Name under which Podman finds the ranges of `--userns=auto`. */
const rangeUser = 'containers'
/** A range below is refused: these IDs are those of the users of the device. */
const minStart = 65_536
/** The kernel has no user above. */
const maxId = 2 ** 32 - 2

/** The first user ID and the first group ID of a container on the device. */
export interface IdRange {
  readonly uid: number
  readonly gid: number
}

/** Where the ranges of the device are listed. */
export interface SubordinateFiles {
  readonly uid: string
  readonly gid: string
}

export const systemFiles: SubordinateFiles = { uid: '/etc/subuid', gid: '/etc/subgid' }

/** First IDs of all ranges of 65,536 that a file has for containers, in its order. */
function startsIn(path: string): number[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return []
  }
  return text.split('\n').flatMap((line) => {
    const [, first, count] = /^containers:(\d{1,10}):(\d{1,10})$/.exec(line.trim()) ?? []
    const start = Number(first)
    const usable = Math.min(Number(count), maxId + 1 - start)
    if (!(start >= minStart && usable >= rangeSize)) return []
    return Array.from({ length: Math.floor(usable / rangeSize) }, (_, at) => start + at * rangeSize)
  })
}

/** All ranges for containers of the device; empty without any. */
export function readRanges({ uid, gid }: SubordinateFiles): IdRange[] {
  const gids = startsIn(gid)
  return startsIn(uid)
    .slice(0, gids.length)
    .map((start, at) => ({ uid: start, gid: gids[at]! }))
}

export const rangesHint = `Give Podman user IDs for containers, so that root in a container is no user of the device: echo '${rangeUser}:2147483647:2147483648' | sudo tee -a /etc/subuid /etc/subgid`

/** The value of the label. */
export const rangeLabel = ({ uid, gid }: IdRange): string => `${uid}:${gid}`

/** @returns undefined for a text that is no label of a range */
export function parseRange(label: string | undefined): IdRange | undefined {
  const [, uid, gid] = /^(\d{1,10}):(\d{1,10})$/.exec(label ?? '') ?? []
  const range = { uid: Number(uid), gid: Number(gid) }
  const isSound = (id: number) => id >= minStart && id <= maxId + 1 - rangeSize
  return isSound(range.uid) && isSound(range.gid) ? range : undefined
}

const overlap = (one: number, other: number): boolean => Math.abs(one - other) < rangeSize

/** Whether two containers would share an ID. */
export const rangesOverlap = (one: IdRange, other: IdRange): boolean =>
  overlap(one.uid, other.uid) || overlap(one.gid, other.gid)

/**
 * A free range. Other programs that use Podman get the lowest IDs, so the upper half is used, beginning at a place that depends on the
 * container: two runtimes that choose at the same time hardly choose the same.
 *
 * @param seed name of the container
 * @throws RpcError `engine_unavailable` if all are in use
 */
export function chooseRange(all: readonly IdRange[], used: readonly IdRange[], seed: string): IdRange {
  const upper = all.slice(all.length >= 4 ? Math.floor(all.length / 2) : 0)
  const first = Number.parseInt(hash('sha256', seed, 'hex').slice(0, 8), 16)
  for (let at = 0; at < upper.length; at++) {
    const range = upper[(first + at) % upper.length]!
    if (!used.some((each) => rangesOverlap(range, each))) return range
  }
  throw new RpcError(
    'engine_unavailable',
    `the device has user IDs for ${upper.length} containers (/etc/subuid, /etc/subgid), and all are in use`,
    { hint: rangesHint },
  )
}

/** The user namespace of a container, as Podman expects it. */
export const usernsMode = ({ uid, gid }: IdRange): string =>
  `auto:size=${rangeSize},uidmapping=0:${uid}:${rangeSize},gidmapping=0:${gid}:${rangeSize}`
