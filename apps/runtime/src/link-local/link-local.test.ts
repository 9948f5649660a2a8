import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { readTxt, writeTxt } from './announcement.ts'
import { createBrowser } from './browser.ts'
import type { DnsRecord, Message } from './dns.ts'
import type { Multicast, Origin } from './multicast.ts'
import { type Network, sharesSubnet } from './networks.ts'
import { createResponder } from './responder.ts'

const nodeId = 'ab'.repeat(28)
const type = '_selvedge._tcp.local'
const network = (name: string, address: string): Network => ({
  name,
  addresses: [address],
  ipv4: [address],
  hasIpv6: false,
  holds: (each) => sharesSubnet(address, '255.255.255.0', each),
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

it.each([
  ['10.77.1.1', '255.255.255.0', '10.77.1.254', true],
  ['10.77.1.1', '255.255.255.0', '10.77.2.1', false],
  ['200.0.0.1', '255.0.0.0', '200.9.9.9', true],
  ['10.0.0.1', '255.255.255.255', '10.0.0.2', false],
])('%s with %s shares its network with %s: %s', (own, mask, other, shares) => {
  expect(sharesSubnet(own, mask, other)).toBe(shares)
})

describe('an announcement', () => {
  const accountKey = randomBytes(32).toString('base64url')
  const now = Date.UTC(2026, 0)
  const statement = {
    nodeId,
    name: 'bob',
    services: [{ name: 's', path: '/c/s' }],
    hosts: ['10.77.1.2'],
    at: now,
  }
  const heard = (txt: Record<string, string>, more: Partial<Parameters<typeof readTxt>[1]> = {}) =>
    readTxt(new Map(Object.entries(txt)), { accountKey, from: '10.77.1.2', now, ...more })

  it('is open to nodes of the account, and to others only that it is there', () => {
    const txt = writeTxt(statement, accountKey)
    expect(heard(txt)).toEqual({ nodeId, statement })
    expect(JSON.stringify(txt)).not.toContain('bob')
    for (const stranger of [undefined, randomBytes(32).toString('base64url')])
      expect(heard(txt, { accountKey: stranger })).toEqual({ nodeId, statement: undefined })
    expect(writeTxt(statement, undefined)).toEqual({ v: '1', id: nodeId })
  })

  it('that was copied, changed or kept for later says nothing', () => {
    const txt = writeTxt(statement, accountKey)
    expect(heard(txt, { from: '10.77.1.4' })?.statement).toBeUndefined()
    expect(heard({ ...txt, id: 'cd'.repeat(28) })?.statement).toBeUndefined()
    expect(heard({ ...txt, s0: `A${txt.s0!.slice(1)}` })?.statement).toBeUndefined()
    expect(heard(txt, { now: now + 3_600_000 })?.statement).toBeUndefined()
    // Where one of the clocks may be wrong, its age is not held against it.
    expect(heard(txt, { now: 0 })?.statement).toEqual(statement)
    for (const other of [{ v: '2', id: nodeId }, { v: '1', id: 'x' }, {}])
      expect(heard(other)).toBeUndefined()
  })

  it('is one packet, however many services there are', () => {
    const services = Array.from({ length: 100 }, (_, index) => ({
      name: `service ${index}`,
      path: `/client/service-${index}`,
    }))
    const txt = writeTxt({ ...statement, services }, accountKey)
    expect(
      Object.entries(txt).reduce((sum, [name, value]) => sum + name.length + value.length + 2, 0),
    ).toBeLessThan(1200)
    expect(Object.entries(txt).every(([name, value]) => name.length + value.length < 255)).toBe(true)
    expect(heard(txt)?.statement?.services.length).toBeGreaterThan(5)
  })
})

describe('the browser', () => {
  const records = (instance: string, ttl = 120): DnsRecord[] => [
    { name: type, type: 'PTR', data: `${instance}.${type}`, ttl, flush: false },
    { name: `${instance}.${type}`, type: 'SRV', data: { port: 1, target: 'x.local' }, ttl, flush: true },
    { name: `${instance}.${type}`, type: 'TXT', data: ['v=1', 'v=2', 'id=x'], ttl, flush: true },
    { name: 'x.local', type: 'A', data: '10.77.1.2', ttl, flush: true },
    { name: 'x.local', type: 'A', data: '192.168.9.9', ttl, flush: true },
  ]
  let now = 0
  const open = () => createBrowser(type, () => now)
  beforeEach(() => {
    now = 0
  })

  it('remembers a service with its addresses on that network, until its time is over', () => {
    const browser = open()
    browser.receive(message({ answers: records('bob') }), from('10.77.1.2'))
    expect(browser.services()).toEqual([
      {
        txt: new Map([
          ['v', '1'],
          ['id', 'x'],
        ]),
        from: '10.77.1.2',
        addresses: ['10.77.1.2'],
        heardAt: 0,
      },
    ])
    now = 121_000
    expect(browser.services()).toEqual([])
  })

  it('a goodbye is for the one who says it, and for nobody else', () => {
    const browser = open()
    browser.receive(message({ answers: records('bob') }), from('10.77.1.2'))
    browser.receive(message({ answers: records('bob', 0).slice(0, 1) }), from('10.77.1.4'))
    expect(browser.services()).toHaveLength(1)
    browser.receive(message({ answers: records('bob', 0).slice(0, 1) }), from('10.77.1.2'))
    expect(browser.services()).toEqual([])
  })

  it('hears nobody who is not at the port of the group, and no question', () => {
    const browser = open()
    browser.receive(message({ answers: records('bob') }), {
      ...from('10.77.1.2'),
      replyAlone: () => undefined,
    })
    browser.receive(message({ isResponse: false, answers: records('bob') }), from('10.77.1.2'))
    expect(browser.services()).toEqual([])
  })

  it('remembers a thousand at most', () => {
    const browser = open()
    for (let index = 0; index < 1100; index++)
      browser.receive(message({ answers: records(`n${index}`) }), from('10.77.1.2'))
    expect(browser.services()).toHaveLength(1000)
  })
})

describe('the responder', () => {
  let sent: Parameters<Multicast['send']>[0][]
  let responder: ReturnType<typeof createResponder>
  beforeEach(() => {
    vi.useFakeTimers()
    sent = []
    responder = createResponder({
      multicast: { send: (each) => void sent.push(each), close: () => undefined },
      networks: [left],
      type,
      instance: 'selvedge x',
      host: 'selvedge-x',
      port: 8083,
    })
  })
  afterEach(() => {
    vi.useRealTimers()
  })
  const names = () =>
    sent.map(({ isResponse, questions = [], answers = [] }) => (isResponse ? answers : questions)[0]?.name)
  const pointers = () =>
    sent.flatMap(({ answers = [] }) =>
      answers.flatMap((each) => (each.type === 'PTR' ? [`${each.data} ${each.ttl}`] : [])),
    )
  const question = (name: string, kind: 'PTR' | 'SRV' | 'ANY' = 'PTR', answers: DnsRecord[] = []) =>
    message({ isResponse: false, questions: [{ name, type: kind }], answers })

  it('looks for its name three times, and announces it twice', () => {
    responder.announce(['v=1'])
    vi.advanceTimersByTime(3000)
    const own = `selvedge x.${type}`
    expect(names()).toEqual([own, own, own, type, type])
    expect(pointers()).toEqual([`${own} 4500`, `${own} 4500`])
  })

  it('takes another name where somebody has it, while it looks and later', () => {
    const taken = (instance: string): Message =>
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
    responder.announce(['v=1'])
    vi.advanceTimersByTime(300)
    responder.receive(taken('selvedge x'), from('10.77.1.9'))
    vi.advanceTimersByTime(3000)
    expect(pointers().at(-1)).toBe(`selvedge x (2).${type} 4500`)
    responder.receive(taken('selvedge x (2)'), from('10.77.1.9'))
    vi.advanceTimersByTime(3000)
    expect(pointers().at(-1)).toBe(`selvedge x (3).${type} 4500`)
    // What it hears of itself is no conflict.
    responder.receive(taken('selvedge x (3)'), from('10.77.1.1'))
    vi.advanceTimersByTime(3000)
    expect(pointers().at(-1)).toBe(`selvedge x (3).${type} 4500`)
  })

  it('answers who asks, once a second at most, and not who knows', () => {
    responder.announce(['v=1'])
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
    expect(names().slice(-2).sort()).toEqual(['_services._dns-sd._udp.local', `selvedge x.${type}`])
  })

  it('answers one who does not listen to the group alone, for a short time', () => {
    responder.announce(['v=1'])
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

  it('says goodbye, and nothing after it', () => {
    responder.announce(['v=1'])
    vi.advanceTimersByTime(3000)
    responder.close()
    expect(pointers().at(-1)).toBe(`selvedge x.${type} 0`)
    const { length } = sent
    responder.receive(question(type), from('10.77.1.9'))
    responder.announce(['v=2'])
    vi.advanceTimersByTime(5000)
    expect(sent).toHaveLength(length)
  })
})
