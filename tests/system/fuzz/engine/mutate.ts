/** Changes to bytes that know nothing of a format. */
import type { Random } from './random.ts'
import type { Mutator } from './target.ts'

const bytesOfInterest = [0, 1, 0x7f, 0x80, 0xff, 0xc0, ...Buffer.from('\t\r\n "\'%+,-./:;<=>?@[\\]{}~$*&')]
const numbersOfInterest = [
  '0',
  '-0',
  '-1',
  '1e999',
  '255',
  '256',
  '65535',
  '65536',
  '2147483647',
  '4294967296',
  '9007199254740991',
  '9007199254740993',
  '253402300800',
  '99999999999999999999999',
  '0x10',
  '1.5',
  '',
]
const integers = [0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0x3fff, 0x7fff, 0xc000, 0xc00c, 0xffff]

const splice = (input: Buffer, from: number, to: number, middle: Uint8Array): Buffer =>
  Buffer.concat([input.subarray(0, from), middle, input.subarray(to)])

/** A place in the input, and how many bytes from there on. */
function rangeOf(input: Buffer, random: Random): [from: number, to: number] {
  const from = random.below(input.length + 1)
  return [from, Math.min(input.length, from + random.size(Math.max(1, input.length - from)))]
}

const setByte: Mutator = (input, random) => {
  if (input.length === 0) return random.bytes(1)
  const changed = Buffer.from(input)
  const at = random.below(input.length)
  const byte = input[at]!
  changed[at] = random.pick([byte ^ (1 << random.below(8)), random.pick(bytesOfInterest), random.below(256)])
  return changed
}

const setInteger: Mutator = (input, random) => {
  const width = random.pick([2, 4])
  if (input.length < width) return input
  const changed = Buffer.from(input)
  const at = random.below(input.length - width + 1)
  const value = random.pick([...integers, input.length, input.length - at, random.below(65536)])
  if (width === 2) changed.writeUInt16BE(value & 0xffff, at)
  else changed.writeUInt32BE(random.oneIn(4) ? 0xffffffff - value : value, at)
  return changed
}

const insert: Mutator = (input, random) => {
  const at = random.below(input.length + 1)
  const bytes = random.oneIn(2)
    ? Buffer.alloc(random.size(64), random.pick(bytesOfInterest))
    : random.bytes(random.size(16))
  return splice(input, at, at, bytes)
}

const remove: Mutator = (input, random) => splice(input, ...rangeOf(input, random), Buffer.alloc(0))

const truncate: Mutator = (input, random) => input.subarray(0, random.below(input.length + 1))

const copyRange: Mutator = (input, random) => {
  const [from, to] = rangeOf(input, random)
  const at = random.below(input.length + 1)
  return splice(
    input,
    at,
    random.oneIn(2) ? at : Math.min(input.length, at + to - from),
    input.subarray(from, to),
  )
}

/** Numbers written in digits: lengths, versions, times. */
const setNumber: Mutator = (input, random) => {
  const text = input.toString('latin1')
  const found = [...text.slice(0, 8192).matchAll(/\d+/g)]
  if (found.length === 0) return input
  const { 0: digits, index } = random.pick(found)
  const value = random.oneIn(3) ? '9'.repeat(random.size(400)) : random.pick(numbersOfInterest)
  return splice(input, index, index + digits.length, Buffer.from(value))
}

const simple: readonly Mutator[] = [
  setByte,
  setByte,
  setInteger,
  insert,
  remove,
  truncate,
  copyRange,
  setNumber,
]

/** Repeats a short part until the input is large: what costs more than its bytes shows there. */
function grow(input: Buffer, random: Random, { words, maxBytes }: MutationParts): Buffer {
  const [from, to] = rangeOf(input, random)
  const part = random.pick([
    () => Buffer.alloc(1, random.pick(bytesOfInterest)),
    () => input.subarray(from, Math.min(to, from + random.size(64))),
    () => Buffer.from(words.length === 0 ? ' ' : random.pick(words), 'latin1'),
  ])()
  if (part.length === 0) return input
  const room = Math.max(0, maxBytes - input.length)
  const times = Math.floor((random.oneIn(2) ? room : random.below(room + 1)) / part.length)
  return splice(input, from, from, Buffer.alloc(times * part.length, part))
}

/** Puts words of the format, or a part of another input, somewhere. */
function mix(input: Buffer, random: Random, others: readonly Buffer[], words: readonly string[]): Buffer {
  const other = random.pick(others)
  const piece =
    words.length > 0 && random.oneIn(2)
      ? Buffer.from(random.pick(words), 'latin1')
      : other.subarray(...rangeOf(other, random))
  const [from, to] = rangeOf(input, random)
  return splice(input, from, random.oneIn(2) ? from : to, piece)
}

export interface MutationParts {
  readonly others: readonly Buffer[]
  readonly words: readonly string[]
  readonly own: readonly Mutator[]
  readonly maxBytes: number
}

/** One to eight changes to an input, of which few make it large. */
export function mutate(input: Buffer, random: Random, parts: MutationParts): Buffer {
  const { others, words, own, maxBytes } = parts
  let changed = input
  const count = random.size(8)
  for (let at = 0; at < count; at++) {
    if (own.length > 0 && random.oneIn(2)) changed = random.pick(own)(changed, random)
    else if (random.oneIn(4)) changed = mix(changed, random, others, words)
    else changed = random.pick(simple)(changed, random)
  }
  if (random.oneIn(16)) {
    changed = grow(changed, random, parts)
    // A digest or a length that belongs to the bytes is made right again.
    if (own.length > 0 && random.oneIn(2)) changed = random.pick(own)(changed, random)
  }
  return changed.length > maxBytes ? changed.subarray(0, maxBytes) : changed
}
