import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Announcement, Statement } from './announcement.ts'
import { createBrowser } from './browser.ts'
import type { DnsRecord, Message } from './dns.ts'
import type { Origin } from './multicast.ts'
import { linkOf, type Network } from './networks.ts'

const type = '_selvedge._tcp.local'
const network = (name: string, address: string): Network => ({
  name,
  addresses: [address],
  links: [linkOf(address, '255.255.0.0')],
})
const left = network('left', '10.77.0.1')
const right = network('right', '10.78.0.1')
const from = (address: string, on = left): Origin => ({ network: on, address, replyAlone: undefined })

/** Instead of a seal: `id`, then `sealed` and `run` for a statement, then `leaving`. */
function read([nodeId, kind, run = 'one', leaving]: readonly string[]): Announcement | undefined {
  if (!nodeId) return undefined
  if (kind !== 'sealed') return { nodeId, statement: undefined }
  const statement = {
    nodeId,
    run,
    name: nodeId,
    services: [],
    hosts: [],
    at: 0,
    isLeaving: leaving === 'leaving',
  }
  return { nodeId, statement: statement satisfies Statement }
}
const record = (data: readonly string[], ttl = 120, instance = data[0]): DnsRecord => ({
  name: `${instance}.${type}`,
  type: 'TXT',
  data,
  ttl,
  flush: true,
})
const response = (...answers: DnsRecord[]): Message => ({
  id: 0,
  isResponse: true,
  questions: [],
  answers,
  authorities: [],
  additionals: [],
})

describe('the browser', () => {
  let browser: ReturnType<typeof createBrowser>
  beforeEach(() => {
    vi.useFakeTimers()
    browser = createBrowser(type, read)
  })
  afterEach(() => {
    vi.useRealTimers()
  })
  const hear = (data: readonly string[], address = '10.77.0.2', ttl = 120, on = left) =>
    browser.receive(response(record(data, ttl)), from(address, on))
  const seen = () =>
    browser.services().map(({ nodeId, statement }) => (statement ? `${nodeId} sealed` : nodeId))
  const strangerAt = (at: number) => `10.77.${1 + (at >> 8)}.${at & 255}`

  it('remembers a node until its TTL ends, and never longer than three minutes', () => {
    hear(['bob'])
    hear(['eve'], '10.77.0.3', 0xffff_ffff)
    expect(browser.services()[0]).toMatchObject({ nodeId: 'bob', network: 'left', from: '10.77.0.2' })
    vi.advanceTimersByTime(121_000)
    expect(seen()).toEqual(['eve'])
    vi.advanceTimersByTime(60_000)
    expect(seen()).toEqual([])
  })

  it('does not follow a wall clock that jumps', () => {
    hear(['bob'])
    vi.setSystemTime(Date.now() + 86_400_000)
    expect(seen()).toEqual(['bob'])
    vi.setSystemTime(0)
    vi.advanceTimersByTime(121_000)
    expect(seen()).toEqual([])
  })

  it('reads responses of responders, and nothing else', () => {
    const announced = response(record(['bob']))
    browser.receive(announced, { ...from('10.77.0.2'), replyAlone: () => undefined })
    browser.receive({ ...announced, isResponse: false }, from('10.77.0.2'))
    browser.receive(response({ ...record(['bob']), name: 'bob._http._tcp.local' }), from('10.77.0.2'))
    hear([])
    expect(seen()).toEqual([])
  })

  it('accepts a goodbye of a stranger from its address', () => {
    hear(['bob'])
    hear(['bob'], '10.77.0.4', 0)
    expect(seen()).toEqual(['bob'])
    hear(['bob'], '10.77.0.2', 0)
    expect(seen()).toEqual([])
  })

  it('lets nothing unsealed change a neighbour of the account, not even a goodbye from its address', () => {
    hear(['bob', 'sealed'])
    hear(['bob'])
    hear(['bob'], '10.77.0.2', 0)
    hear(['bob', 'sealed'], '10.77.0.2', 0)
    expect(seen()).toEqual(['bob sealed'])
    hear(['bob', 'sealed', 'one', 'leaving'], '10.77.0.2', 0)
    expect(seen()).toEqual([])
  })

  it('ignores a recorded goodbye of an earlier run, and one that is sent as an announcement', () => {
    hear(['bob', 'sealed', 'two'])
    hear(['bob', 'sealed', 'one', 'leaving'], '10.77.0.2', 0)
    hear(['bob', 'sealed', 'two', 'leaving'])
    expect(seen()).toEqual(['bob sealed'])
    hear(['cat', 'sealed', 'two', 'leaving'])
    expect(seen()).toEqual(['bob sealed'])
  })

  it('remembers few strangers of one address, and of a network', () => {
    hear(['guy'], '10.77.0.9')
    for (let at = 0; at < 1000; at++) hear([`n${at}`])
    expect(seen()).toHaveLength(9)
    for (let at = 0; at < 5000; at++) hear([`m${at}`], strangerAt(at))
    expect(seen()).toHaveLength(100)
    expect(seen()).toContain('guy')
  })

  it('gives newcomers the room of addresses that take much, and of strangers that answer no more', () => {
    for (let at = 0; at < 100; at++) hear([`n${at}`], strangerAt(at >> 3))
    expect(seen()).toHaveLength(100)
    hear(['guy'], '10.77.0.9')
    expect(seen()).toHaveLength(100)
    expect(seen()).toContain('guy')
    for (let at = 0; at < 1000; at++) hear([`m${at}`], strangerAt(1000 + at))
    hear(['late'], '10.77.0.10')
    expect(seen()).not.toContain('late')
    vi.advanceTimersByTime(66_000)
    hear(['guy'], '10.77.0.9')
    hear(['late'], '10.77.0.10')
    expect(seen()).toEqual(expect.arrayContaining(['guy', 'late']))
    expect(seen()).toHaveLength(100)
  })

  it('keeps the room of neighbours from strangers, and of each network from the others', () => {
    for (let at = 0; at < 150; at++) hear([`n${at}`], strangerAt(at))
    for (let at = 0; at < 50; at++) hear([`b${at}`, 'sealed'], strangerAt(2000 + at))
    for (let at = 0; at < 150; at++) hear([`m${at}`], strangerAt(1000 + at))
    hear(['guy'], '10.78.0.9', 120, right)
    expect(seen().filter((each) => each.endsWith('sealed'))).toHaveLength(50)
    expect(seen()).toContain('guy')
    expect(seen()).toHaveLength(151)
  })

  it('is bounded for a hostile node of the account, too', () => {
    for (let at = 0; at < 100; at++) hear([`n${at}`, 'sealed'])
    expect(seen()).toHaveLength(16)
    for (let at = 0; at < 3000; at++) hear([`m${at}`, 'sealed'], strangerAt(at))
    expect(seen()).toHaveLength(1000)
  })

  it('reads few records of a packet', () => {
    const records = Array.from({ length: 200 }, (_, at) => record([`n${at}`]))
    browser.receive(response(...records), from('10.77.0.2'))
    expect(seen()).toHaveLength(4)
  })

  it('holds neighbours of the account while packets are dropped, for ten minutes', () => {
    hear(['bob', 'sealed'])
    hear(['guy'], '10.77.0.9')
    for (let minute = 0; minute < 9; minute++) {
      vi.advanceTimersByTime(60_000)
      browser.missed()
    }
    expect(seen()).toEqual(['bob sealed'])
    vi.advanceTimersByTime(60_001)
    browser.missed()
    expect(seen()).toEqual([])
  })

  it('knows the addresses of neighbours of the account, as long as it knows them', () => {
    hear(['bob', 'sealed'])
    hear(['eve'], '10.77.0.3')
    expect(browser.isSealed(left, '10.77.0.2')).toBe(true)
    expect(browser.isSealed(left, '10.77.0.3')).toBe(false)
    expect(browser.isSealed(right, '10.77.0.2')).toBe(false)
    browser.retain([right])
    expect(browser.isSealed(left, '10.77.0.2')).toBe(false)
    expect(seen()).toEqual([])
  })
})
