import { decode, encode } from 'dns-packet'
import { describe, expect, it } from 'vitest'
import { leastOf, ownCpu } from '../../../../../tests/harness/cpu.ts'
import { fc } from '../../../../../tests/harness/properties.ts'
import { type DnsRecord, decodeMessage, encodeMessage } from './dns.ts'

const type = '_selvedge._tcp.local'
const records: DnsRecord[] = [
  { name: type, type: 'PTR', data: `selvedge a b (2).${type}`, ttl: 4500, flush: false },
  { name: `x.${type}`, type: 'SRV', data: { port: 8083, target: 'x.local' }, ttl: 120, flush: true },
  { name: `x.${type}`, type: 'TXT', data: ['v=1', 'id=ü', ''], ttl: 4500, flush: true },
  { name: 'x.local', type: 'A', data: '10.77.1.2', ttl: 120, flush: true },
  { name: 'x.local', type: 'AAAA', data: 'fe80::1:0:0:2', ttl: 120, flush: true },
]

describe('messages of the DNS', () => {
  it('come back as they went', () => {
    const message = {
      id: 7,
      isResponse: true,
      questions: [{ name: type, type: 'PTR' as const }],
      answers: records,
      authorities: [records[1]!],
      additionals: [records[3]!],
    }
    expect(decodeMessage(encodeMessage(message))).toEqual(message)
  })

  it('are what another program reads, and reads as it writes them, with names that point back', () => {
    const theirs = decode(encodeMessage({ isResponse: true, answers: records }))
    expect(theirs).toMatchObject({ type: 'response', flag_aa: true })
    expect(theirs.answers!.map(({ type: kind, name }) => `${kind} ${name}`)).toEqual(
      records.map((each) => `${each.type} ${each.name}`),
    )
    expect(theirs.answers![1]).toMatchObject({
      data: { port: 8083, target: 'x.local' },
      flush: true,
      ttl: 120,
    })
    expect(theirs.answers!.slice(3).map((each) => (each as { data: string }).data)).toEqual([
      '10.77.1.2',
      'fe80::1:0:0:2',
    ])
    const written = encode({
      type: 'response',
      answers: [
        { type: 'PTR', name: type, data: `x.${type}`, ttl: 1 },
        { type: 'HINFO', name: 'x.local', data: { cpu: 'x', os: 'y' }, ttl: 1 },
        { type: 'SRV', name: `x.${type}`, data: { port: 1, target: 'x.local' }, ttl: 1, flush: true },
      ],
    })
    expect(decodeMessage(written).answers).toEqual([
      { name: type, type: 'PTR', data: `x.${type}`, ttl: 1, flush: false },
      { name: `x.${type}`, type: 'SRV', data: { port: 1, target: 'x.local' }, ttl: 1, flush: true },
    ])
    // A name that ends where another one began.
    const compressed = Buffer.concat([
      encodeMessage({
        isResponse: false,
        questions: [
          { name: 'a.local', type: 'PTR' },
          { name: 'b', type: 'A' },
        ],
      }).subarray(0, -7),
      Buffer.from([1, 0x62, 0xc0, 14, 0, 1, 0, 1]),
    ])
    expect(decodeMessage(compressed).questions[1]).toEqual({ name: 'b.local', type: 'A' })
  })

  it('that are broken end in an error, soon, and never in more than they hold', () => {
    const good = encodeMessage({ isResponse: true, answers: records })
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 12 }),
        fc.nat(good.length),
        (changes, length) => {
          const packet = Buffer.from(good)
          for (const [at, value] of changes) packet[at] = value
          try {
            expect(decodeMessage(packet.subarray(0, length)).answers.length).toBeLessThanOrEqual(200)
          } catch (cause) {
            expect((cause as Error).name).not.toBe('AssertionError')
          }
        },
      ),
      { numRuns: 5000 },
    )
    const loop = Buffer.from([0, 0, 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 12, 0, 1])
    expect(() => decodeMessage(loop)).toThrow('a name points forwards')
  })

  it('has labels with dots in them, and addresses in their shortest form', () => {
    const dotted = `a\\.b.${type}`
    expect(
      decodeMessage(encodeMessage({ isResponse: false, questions: [{ name: dotted, type: 'TXT' }] }))
        .questions[0]!.name,
    ).toBe(dotted)
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const answers: DnsRecord[] = [
          {
            name: 'x',
            type: 'AAAA',
            data: new URL(`http://[${address.replace(/:(\d+\.){3}\d+$/, ':1:2')}]`).hostname.slice(1, -1),
            ttl: 1,
            flush: false,
          },
        ]
        expect(decodeMessage(encodeMessage({ isResponse: true, answers })).answers).toEqual(answers)
      }),
    )
  })

  it.each([
    ['a chain of pointers', pointerChain(2000)],
    ['many names', manyNames()],
    ['many pointers to one name', shared()],
    ['empty entries', Buffer.concat([head(0, 256), Buffer.alloc(8000)])],
  ])('costs no more than its bytes, with %s', async (_, packet) => {
    const multiple = ([usual = 0, cost = 0]: readonly number[]) => cost / usual
    const measures = [() => costOf(ordinary()), () => costOf(packet)]
    expect(multiple(await leastOf(measures, (least) => multiple(least) < 20))).toBeLessThan(20)
  })

  it('refuses a name with too many pointers, one that is too long, and too many entries', () => {
    expect(() => decodeMessage(pointerChain(2000))).toThrow('a name is too long')
    expect(decodeMessage(pointerChain(10)).answers).toHaveLength(2)
    // Each name is a pointer to the name before, which is known already.
    const owners = Array.from({ length: 60 }, (_, at) =>
      record(pointer(at === 0 ? 12 : 23 + 12 * (at - 1)), 16, Buffer.alloc(0)),
    )
    const linked = Buffer.concat([head(0, 61), record(Buffer.from([0]), 16, Buffer.alloc(0)), ...owners])
    expect(() => decodeMessage(linked)).toThrow('a name is too long')
    const label = Buffer.concat([Buffer.from([63]), Buffer.alloc(63, 'x')])
    const long = Buffer.concat([head(1, 0), label, label, label, label, Buffer.from([0, 0, 12, 0, 1])])
    expect(() => decodeMessage(long)).toThrow('a name is too long')
    expect(() => decodeMessage(Buffer.concat([head(200, 57), Buffer.alloc(8000)]))).toThrow(
      'too many entries',
    )
    // In a circle by way of a label.
    const circle = Buffer.concat([head(1, 0), Buffer.from([1, 0x61, 0xc0, 12, 0, 12, 0, 1])])
    expect(() => decodeMessage(circle)).toThrow('a name points forwards')
  })
})

/** Milliseconds of CPU for each byte, of a hundred times. */
function costOf(packet: Buffer): number {
  const cost = ownCpu(() => {
    for (let count = 0; count < 100; count++) {
      try {
        decodeMessage(packet)
      } catch {
        // Refused: that has its cost, too.
      }
    }
  })
  return cost / packet.length
}

/** The head of a response. */
function head(questions: number, answers: number): Buffer {
  const bytes = Buffer.alloc(12)
  bytes.writeUInt16BE(0x8400, 2)
  bytes.writeUInt16BE(questions, 4)
  bytes.writeUInt16BE(answers, 6)
  return bytes
}

const record = (name: Buffer, kind: number, data: Buffer) =>
  Buffer.concat([name, Buffer.from([0, kind, 0, 1, 0, 0, 0, 60, data.length >> 8, data.length & 255]), data])
const pointer = (at: number) => Buffer.from([0xc0 | (at >> 8), at & 255])
const ordinary = () => encodeMessage({ isResponse: true, answers: records })

/** A record whose data are pointers, each to the one before; another one is named by the last of them. */
function pointerChain(length: number): Buffer {
  const start = 12 + 11
  const chain = Buffer.alloc(2 * length)
  for (let at = 0; at < length; at++) pointer(at === 0 ? 12 : start + 2 * (at - 1)).copy(chain, 2 * at)
  const named = record(pointer(start + 2 * (length - 1)), 16, Buffer.alloc(0))
  return Buffer.concat([head(0, 2), record(Buffer.from([0]), 16, chain), named])
}

/** 250 records with names of 40 labels each, by way of one pointer. */
function manyNames(): Buffer {
  const long = Buffer.concat([...Array<Buffer>(40).fill(Buffer.from([1, 0x61])), Buffer.from([0])])
  const first = record(Buffer.from([0]), 16, long)
  return Buffer.concat([
    head(0, 251),
    first,
    ...Array<Buffer>(250).fill(record(pointer(23), 12, pointer(23))),
  ])
}

/** Services of one host with many addresses. */
const shared = () =>
  encodeMessage({
    isResponse: true,
    answers: Array.from({ length: 60 }, (_, at) => ({
      name: `s${at}.${type}`,
      type: 'SRV' as const,
      data: { port: 1, target: `${'x'.repeat(60)}.local` },
      ttl: 1,
      flush: true,
    })),
    additionals: Array.from({ length: 60 }, (_, at) => ({
      name: `${'x'.repeat(60)}.local`,
      type: 'A' as const,
      data: `10.0.0.${at}`,
      ttl: 1,
      flush: true,
    })),
  })
