import { decodeMessage, encodeMessage } from '../../../../apps/runtime/src/location/link-local/dns.ts'
import type { Mutator } from '../engine/target.ts'
import { expectThat, type Target } from '../engine/target.ts'

const type = '_selvedge._tcp.local'
const instance = (name: string) => `${name}.${type}`
const record = { ttl: 120, flush: true } as const
const node = (name: string) => [
  { ...record, name: type, type: 'PTR' as const, data: instance(name), flush: false },
  { ...record, name: instance(name), type: 'SRV' as const, data: { port: 8083, target: `${name}.local` } },
  {
    ...record,
    name: instance(name),
    type: 'TXT' as const,
    data: ['v=1', `id=${'a'.repeat(56)}`, `s0=${'x'.repeat(200)}`],
  },
  { ...record, name: `${name}.local`, type: 'A' as const, data: '10.0.0.1' },
  { ...record, name: `${name}.local`, type: 'AAAA' as const, data: 'fe80::1' },
]

/** A packet whose names point back to earlier ones. */
function compressed(): Buffer {
  const plain = encodeMessage({ isResponse: true, answers: node('first').slice(0, 1) })
  const more = Buffer.from([0xc0, 12, 0, 12, 0, 1, 0, 0, 0, 120, 0, 2, 0xc0, 12])
  const packet = Buffer.concat([plain, ...Array(20).fill(more)])
  packet.writeUInt16BE(21, 6)
  return packet
}

/** Sets one of the four counts. */
const setCount: Mutator = (input, random) => {
  if (input.length < 12) return input
  const changed = Buffer.from(input)
  changed.writeUInt16BE(random.pick([0, 1, 30, 64, 199, 200, 201, 65535]), 4 + 2 * random.below(4))
  return changed
}

/** Writes a pointer, or a chain of them, each to the one before. */
const setPointer: Mutator = (input, random) => {
  if (input.length < 16) return input
  const changed = Buffer.from(input)
  let at = 12 + random.below(input.length - 14)
  let target = random.pick([12, at, Math.max(0, at - 2), random.below(input.length)])
  for (let left = random.size(200); left > 0 && at + 2 <= changed.length; left--) {
    changed.writeUInt16BE(0xc000 | (target & 0x3fff), at)
    target = at
    at += 2
  }
  return changed
}

/** Adds a record of a type that is understood, with a name that is a pointer. */
const addRecord: Mutator = (input, random) => {
  if (input.length < 12) return input
  const kind = random.pick([1, 12, 16, 28, 33, 255])
  const data = random.oneIn(2) ? Buffer.from([0xc0, 12]) : random.bytes(random.size(40))
  const head = Buffer.from([0xc0, random.below(256), 0, kind, 0x80, 1, 0, 0, 0, 120, 0, data.length])
  const times = random.size(200)
  const changed = Buffer.concat([input, ...Array<Buffer>(times).fill(Buffer.concat([head, data]))])
  changed.writeUInt16BE(Math.min(65535, changed.readUInt16BE(6) + times), 6)
  return changed
}

/** Packets of multicast DNS. */
export const dns: Target = {
  name: 'dns',
  covers: ['apps/runtime/src/location/link-local/dns.ts'],
  seeds: () => [
    encodeMessage({ isResponse: true, answers: node('device') }),
    encodeMessage({
      isResponse: false,
      questions: [{ name: type, type: 'PTR' }],
      answers: node('known').slice(0, 1),
    }),
    encodeMessage({
      isResponse: false,
      questions: [{ name: instance('a'), type: 'ANY' }],
      authorities: node('a'),
    }),
    encodeMessage({
      isResponse: true,
      answers: Array.from({ length: 20 }, (_, at) => node(`n${at}`)).flat(),
    }),
    compressed(),
  ],
  mutators: [setCount, setPointer, addRecord],
  words: ['\xc0\x0c', '\x09_selvedge\x04_tcp\x05local\x00', '\x00\x0c\x00\x01', '\x3f'],
  maxBytes: 9000,
  open: () => ({
    parse(input) {
      let message: ReturnType<typeof decodeMessage>
      try {
        message = decodeMessage(input)
      } catch (cause) {
        // It says "@throws Error": what it may not do is end in another way, or take its time.
        return `refused ${(cause as Error).message}`
      }
      const records = [...message.answers, ...message.authorities, ...message.additionals]
      expectThat(records.length <= 600, `it has ${records.length} records`)
      for (const { name } of records)
        expectThat(name.length <= 2 * 255, `a name has ${name.length} characters`)
      return records
        .map((each) => each.type)
        .join(' ')
        .slice(0, 40)
    },
  }),
}
