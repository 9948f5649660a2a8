import { decode, encode } from 'dns-packet'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
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
})
