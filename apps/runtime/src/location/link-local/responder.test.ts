import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { DnsRecord, Message } from './dns.ts'
import type { Multicast, Origin } from './multicast.ts'
import { linkOf, type Network } from './networks.ts'
import { createOwnRecords } from './own-records.ts'
import { createResponder } from './responder.ts'

const type = '_selvedge._tcp.local'
const network = (name: string, address: string): Network => ({
  name,
  addresses: [address],
  links: [linkOf(address, '255.255.255.0')],
})
const left = network('left', '10.77.1.1')
const from = (address: string, on = left): Origin => ({ network: on, address, replyAlone: undefined })
const message = (more: Partial<Message>): Message => ({
  id: 0,
  isResponse: true,
  questions: [],
  answers: [],
  authorities: [],
  additionals: [],
  ...more,
})

describe('the responder', () => {
  let sent: Parameters<Multicast['send']>[0][]
  let conflicts: string[]
  let responder: ReturnType<typeof createResponder>
  const open = (networks: readonly Network[]) =>
    createResponder({
      multicast: { open: () => undefined, send: (each) => void sent.push(each), close: () => undefined },
      networks,
      records: createOwnRecords({
        type,
        instance: 'selvedge x',
        host: 'selvedge-x',
        port: 8083,
        txt: ({ name }) => ['v=1', name],
      }),
      onConflict: (...where) => conflicts.push(where.join(' ')),
    })
  beforeEach(() => {
    vi.useFakeTimers()
    sent = []
    conflicts = []
    responder = open([left])
  })
  afterEach(() => {
    vi.useRealTimers()
  })
  const own = `selvedge x.${type}`
  const names = () =>
    sent.map(({ isResponse, questions = [], answers = [] }) => (isResponse ? answers : questions)[0]?.name)
  const pointers = () =>
    sent.flatMap(({ answers = [] }) =>
      answers.flatMap((each) => (each.type === 'PTR' ? [`${each.data} ${each.ttl}`] : [])),
    )
  const question = (name: string, kind: 'PTR' | 'SRV' | 'ANY' = 'PTR', answers: DnsRecord[] = []) =>
    message({ isResponse: false, questions: [{ name, type: kind }], answers })

  it('probes three times, and announces twice', () => {
    responder.announce()
    vi.advanceTimersByTime(3000)
    expect(names()).toEqual([own, own, own, type, type])
    expect(pointers()).toEqual([`${own} 4500`, `${own} 4500`])
  })

  /** Another device that answers for the name. */
  const taken = (instance = 'selvedge x'): Message =>
    message({
      answers: [
        {
          name: `${instance}.${type}`,
          type: 'SRV',
          data: { port: 1, target: 'other.local' },
          ttl: 120,
          flush: true,
        },
      ],
    })
  /** The other one ten times a second. */
  const contradict = (seconds: number, address = '10.77.1.9') => {
    for (let count = 0; count < 10 * seconds; count++) {
      responder.receive(taken(), from(address))
      vi.advanceTimersByTime(100)
    }
  }

  it('never gives up its name, and contradicts another device with growing pauses', () => {
    responder.announce()
    vi.advanceTimersByTime(300)
    contradict(0.4)
    vi.advanceTimersByTime(3000)
    expect(pointers()).toEqual([`${own} 4500`, `${own} 4500`])
    vi.advanceTimersByTime(3000)
    sent = []
    contradict(10)
    expect(pointers().length).toBeGreaterThan(1)
    expect(pointers().length).toBeLessThanOrEqual(5)
    sent = []
    contradict(600)
    expect(pointers().length).toBeGreaterThan(8)
    expect(pointers().length).toBeLessThan(20)
    expect(names().every((each) => each === type)).toBe(true)
    expect(pointers().every((each) => each === `${own} 4500`)).toBe(true)
    expect(conflicts).toEqual(['left 10.77.1.9'])
    vi.advanceTimersByTime(120_000)
    sent = []
    contradict(1)
    vi.advanceTimersByTime(1000)
    expect(pointers()).toHaveLength(1)
    expect(conflicts).toHaveLength(2)
  })

  it('answers queries while it is contradicted', () => {
    responder.announce()
    vi.advanceTimersByTime(3000)
    contradict(60)
    sent = []
    responder.receive(question(type), from('10.77.1.8'))
    vi.advanceTimersByTime(1500)
    expect(pointers()).toHaveLength(1)
  })

  it('is in no conflict with itself on two interfaces of one network', () => {
    const second = network('second', '10.77.1.7')
    responder = open([left, second])
    responder.announce()
    vi.advanceTimersByTime(3000)
    const announced = sent.splice(0).filter(({ isResponse }) => isResponse)
    expect(announced).toHaveLength(4)
    for (const { answers = [] } of announced)
      for (const origin of [from('10.77.1.7'), from('10.77.1.1', second), from('10.77.1.9')])
        responder.receive(message({ answers }), origin)
    vi.advanceTimersByTime(3000)
    expect(sent).toEqual([])
    expect(conflicts).toEqual([])
  })

  it('announces on a network that becomes ready later', () => {
    responder.greet(left)
    vi.advanceTimersByTime(3000)
    expect(sent).toEqual([])
    responder.announce()
    vi.advanceTimersByTime(3000)
    sent = []
    responder.greet(left)
    vi.advanceTimersByTime(1500)
    expect(pointers()).toEqual([`${own} 4500`])
  })

  it('sends one answer a second, whatever combinations are asked for', () => {
    responder.announce()
    vi.advanceTimersByTime(3000)
    sent = []
    const asked = [type, own, 'selvedge-x.local', '_services._dns-sd._udp.local']
    for (let count = 0; count < 1000; count++) {
      const questions = asked
        .filter((_, at) => count & (1 << at))
        .map((name) => ({ name, type: 'ANY' as const }))
      responder.receive(message({ isResponse: false, questions }), from(`10.77.1.${count % 250}`))
      vi.advanceTimersByTime(10)
    }
    expect(sent.length).toBeGreaterThan(5)
    expect(sent.length).toBeLessThan(13)
  })

  it('answers a query once a second, and not a querier that knows the answer', () => {
    responder.announce()
    vi.advanceTimersByTime(3000)
    sent = []
    for (let count = 0; count < 5; count++) responder.receive(question(type), from('10.77.1.9'))
    vi.advanceTimersByTime(150)
    expect(pointers()).toHaveLength(1)
    responder.receive(question(type), from('10.77.1.9'))
    vi.advanceTimersByTime(500)
    expect(pointers()).toHaveLength(1)
    vi.advanceTimersByTime(700)
    expect(pointers()).toHaveLength(2)
    const known: DnsRecord = { name: type, type: 'PTR', data: `selvedge x.${type}`, ttl: 4000, flush: false }
    responder.receive(question(type, 'PTR', [known]), from('10.77.1.9'))
    responder.receive(question('_other._tcp.local'), from('10.77.1.9'))
    vi.advanceTimersByTime(3000)
    expect(pointers()).toHaveLength(2)
    responder.receive(question(`SELVEDGE X.${type}`, 'SRV'), from('10.77.1.9'))
    responder.receive(question('_services._dns-sd._udp.local'), from('10.77.1.9'))
    vi.advanceTimersByTime(3000)
    const answered = sent.at(-1)?.answers?.map((each) => `${each.type} ${each.name}`)
    expect(answered).toEqual([`SRV ${own}`, 'PTR _services._dns-sd._udp.local'])
  })

  it('answers a querier that does not listen to the group directly, with a short TTL', () => {
    responder.announce()
    vi.advanceTimersByTime(3000)
    sent = []
    const alone: Parameters<Multicast['send']>[0][] = []
    responder.receive(
      { ...question(type), id: 77 },
      { ...from('10.77.1.9'), replyAlone: (each) => void alone.push(each) },
    )
    vi.advanceTimersByTime(3000)
    expect(sent).toEqual([])
    expect(alone).toMatchObject([
      { id: 77, questions: [{ name: type }], answers: [{ ttl: 10, flush: false }] },
    ])
  })

  it('sends a goodbye, and nothing after it', () => {
    responder.announce()
    vi.advanceTimersByTime(3000)
    responder.close()
    expect(pointers().at(-1)).toBe(`selvedge x.${type} 0`)
    const { length } = sent
    responder.receive(question(type), from('10.77.1.9'))
    responder.announce()
    vi.advanceTimersByTime(5000)
    expect(sent).toHaveLength(length)
  })
})
