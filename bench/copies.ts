/**
 * `npm run bench copies`: how often the rule about copies of devices is wrong, simulated over 10,000 device-years without a copy and as many devices that are
 * copied. Between two events, a device sends a request every ten minutes, which changes nothing: only the requests beside an event are simulated.
 */
import { type Turns, takeTurn } from '../apps/identity/src/registry/nodes/turns.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const year = 365 * day
const devices = 10_000

/** Reproducible numbers from 0 to 1 (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const random = createRandom(35)
const between = (least: number, most: number): number => least + random() * (most - least)
const isSo = (share: number): boolean => random() < share
/** Milliseconds from one request to the next. */
const interval = (): number => between(9, 11) * minute

/** One node as the service knows it. Replicas have clocks that differ by up to two seconds. */
function createNode() {
  let turns: Turns | undefined
  return (id: number, count: number, at: number): boolean => {
    const { next, isNews } = takeTurn(turns, { id: String(id), count }, at + between(-2000, 2000))
    turns = next ?? turns
    return isNews
  }
}

/** What happens to devices of which there is one. */
const kinds = ['power cut or restart', 'restored backup', 'snapshot of a virtual machine'] as const
type Kind = (typeof kinds)[number]

/** @param isVirtual whether snapshots with the memory are made and restored @returns after what a copy was noticed */
function liveYear(isVirtual: boolean): Kind[] {
  const hear = createNode()
  const wrong: Kind[] = []
  let [id, count, at] = [0, 0, 0]
  const send = (kind: Kind, step = interval()) => {
    at += step
    if (hear(id, ++count, at)) wrong.push(kind)
  }
  const start = (kind: Kind) => {
    const [before, last] = [id, count]
    id++
    count = 0
    send(kind, between(0.1, 3) * minute)
    // A request of the start before that was on the way, for as long as its proof lasts.
    if (isSo(0.05) && hear(before, last + 1, at + between(0, 2) * minute)) wrong.push(kind)
    for (let more = 0; more < 3; more++) send(kind)
  }
  const snapshot = () => {
    const [savedId, savedCount] = [id, count]
    // Often it is made right before an upgrade, and nothing is heard of this start any more.
    if (isSo(0.5)) for (let more = 0; more < 3; more++) send(kinds[2])
    start(kinds[2])
    for (let tries = isSo(0.2) ? 3 : 1; tries > 0; tries--) {
      ;[id, count] = [savedId, savedCount]
      at += between(1, 60) * minute
      for (let more = Math.ceil(between(0, 6)); more > 0; more--) send(kinds[2])
    }
    // The upgrade is tried again.
    id = 1_000_000 + Math.ceil(at / minute)
    start(kinds[2])
  }
  while (at < year) {
    at += between(0, 10) * day
    if (isVirtual && isSo(0.2)) snapshot()
    else start(isSo(0.02) ? kinds[1] : kinds[0])
  }
  return wrong
}

/** A device and its copy. @returns milliseconds until the copy is noticed, within a week; undefined: it was not */
function liveWithCopy({
  restartsEach,
  withMemory,
}: {
  restartsEach: number
  withMemory: boolean
}): number | undefined {
  const hear = createNode()
  const both = [1, 2].map((each) => ({
    id: withMemory ? 1 : each,
    count: 100,
    at: between(0, 10) * minute,
    restartsAt: -Math.log(1 - random()) * restartsEach,
  }))
  let ids = 10
  for (;;) {
    const one = both[0]!.at <= both[1]!.at ? both[0]! : both[1]!
    if (one.at > 7 * day) return undefined
    if (one.at > one.restartsAt) {
      one.id = ids++
      one.count = 0
      one.restartsAt = one.at - Math.log(1 - random()) * restartsEach
    }
    if (hear(one.id, ++one.count, one.at)) return one.at
    one.at += interval()
  }
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)

const virtual = devices / 10
const wrong = new Map<Kind, number>(kinds.map((kind) => [kind, 0]))
let wrongYears = 0
for (let device = 0; device < devices; device++) {
  const found = liveYear(device < virtual)
  if (found.length > 0) wrongYears++
  for (const kind of found) wrong.set(kind, wrong.get(kind)! + 1)
}
print(
  `${devices} device-years without a copy, ${virtual} of virtual machines with snapshots: ${wrongYears} with a false notice`,
)
for (const [kind, count] of wrong) print(`  false notices after: ${kind}: ${count}`)

for (const [name, options] of [
  ['a copied disk', { restartsEach: 30 * day, withMemory: false }],
  ['a copied disk, both started again every hour', { restartsEach: hour, withMemory: false }],
  ['a copied disk, both started again every 20 minutes', { restartsEach: 20 * minute, withMemory: false }],
  ['a virtual machine copied with its memory', { restartsEach: 30 * day, withMemory: true }],
] as const) {
  const times = Array.from({ length: devices }, () => liveWithCopy(options))
  const found = times.filter((each) => each !== undefined).toSorted((one, other) => one - other)
  const at = (share: number) =>
    `${Math.round((found[Math.floor(found.length * share)] ?? Number.NaN) / minute)} min`
  print(
    `${name}: ${found.length} of ${devices} noticed within a week; median ${at(0.5)}, 99 of 100 ${at(0.99)}`,
  )
}
