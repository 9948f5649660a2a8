/** Which states to look at when the power is cut at a moment: some in order, the rest by chance, the same on every run. */
import type { Fate, Torn } from './content.ts'
import type { Disk, Pending, State } from './disk.ts'

/** 0 to 1, the same sequence for the same seed. */
export type Random = () => number

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** How a state came about, in words. */
export interface Cut {
  readonly how: string
  readonly state: State
}

/** The newest pending operations are looked at one by one; those before them only by chance. */
const newest = 12

/** @param byChance how many states by chance, beside those in order; undefined: only those in which all or nothing is there */
export function* cutsOf(disk: Disk, random: Random, byChance: number | undefined): Generator<Cut> {
  const pending = disk.pending()
  const each = (how: string, fateOf: (pending: Pending, at: number) => Fate): Cut => {
    const fates = new Map(pending.map((operation, at) => [operation, fateOf(operation, at)]))
    return { how, state: disk.cut((operation) => fates.get(operation)!) }
  }
  yield each('all is there', () => 'kept')
  if (pending.length === 0) return
  yield each('nothing that is not synced is there', () => 'lost')
  if (byChance === undefined) return
  for (let own = Math.max(0, pending.length - newest); own < pending.length; own++) {
    const what = describe(pending[own]!)
    yield each(`only ${what} is lost`, (_, at) => (at === own ? 'lost' : 'kept'))
    yield each(`only ${what} is there`, (_, at) => (at === own ? 'kept' : 'lost'))
    yield each(`all from ${what} on is lost`, (_, at) => (at < own ? 'kept' : 'lost'))
    if (pending[own]!.kind !== 'write') continue
    for (const [name, torn] of tears(random)) {
      yield each(`${what} is torn (${name})`, (_, at) => (at === own ? torn : 'kept'))
      yield each(`${what} is torn (${name}), the rest is lost`, (_, at) => (at === own ? torn : 'lost'))
    }
  }
  for (let count = 0; count < byChance; count++) {
    const share = random()
    yield each('by chance', () => {
      if (random() < share) return 'kept'
      return random() < 0.5 ? 'lost' : byChoice(random)
    })
  }
}

const tears = (random: Random): [string, Torn][] => [
  ['its start is there', cutAt(random(), true)],
  ['its end is there', cutAt(random(), false)],
  ['sectors by chance', byChoice(random)],
]

const cutAt =
  (share: number, isStart: boolean): Torn =>
  (sector, count) =>
    sector < Math.max(1, Math.floor(share * count)) === isStart

const byChoice = (random: Random): Torn => {
  const chosen = new Map<number, boolean>()
  return (sector) => {
    const known = chosen.get(sector) ?? random() < 0.5
    chosen.set(sector, known)
    return known
  }
}

function describe(operation: Pending): string {
  switch (operation.kind) {
    case 'write':
      return `the write of ${operation.data.length} bytes at ${operation.offset} of file ${operation.inode}`
    case 'truncate':
      return `the size ${operation.size} of file ${operation.inode}`
    case 'unlink':
      return `the removal of ${operation.from.name}`
    case 'rename':
      return `the rename of ${operation.from.name} to ${operation.to.name}`
    case 'link':
      return `the name ${operation.to.name}`
  }
}
