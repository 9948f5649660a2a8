import type { IncomingMessage } from 'node:http'
import { describe, expect, it, vi } from 'vitest'
import { createAddressSet } from '../addresses/address-set.ts'
import { createFakeClock } from '../testing/index.ts'
import { addressOf, limitKeyOf } from './address.ts'
import { createLimiter, refuseIf, takeOrRefuse } from './limiter.ts'

describe('a limiter', () => {
  it('lets a burst through, then what is earned, for each key alone', () => {
    const clock = createFakeClock()
    const limiter = createLimiter({ burst: 2, perSecond: 0.5 }, clock.now)
    expect([limiter.take('a'), limiter.take('a'), limiter.take('a'), limiter.take('b')]).toEqual([0, 0, 2, 0])
    clock.advance(2000)
    expect([limiter.take('a'), limiter.take('a')]).toEqual([0, 2])
    clock.advance(3_600_000)
    expect([limiter.take('a'), limiter.take('a'), limiter.take('a')]).toEqual([0, 0, 2])
  })
  it('refunds what turned out to be harmless, and no more than that', () => {
    const limiter = createLimiter({ burst: 1, perSecond: 1 }, createFakeClock().now)
    limiter.take('a')
    limiter.giveBack('a')
    limiter.giveBack('a')
    expect([limiter.take('a'), limiter.take('a')]).toEqual([0, 1])
  })
  it('refunds one request, and names what is missing of the next one', () => {
    const clock = createFakeClock()
    const limiter = createLimiter({ burst: 3, perSecond: 0.1 }, clock.now)
    for (let at = 0; at < 3; at++) limiter.take('a')
    limiter.giveBack('a')
    expect([limiter.take('a'), limiter.take('a')]).toEqual([0, 10])
    clock.advance(5000)
    expect(limiter.take('a')).toBe(5)
  })

  it('refunds nothing to a key that was not counted', () => {
    const limiter = createLimiter({ burst: 1, perSecond: 1 }, createFakeClock().now)
    limiter.giveBack('a')
    expect([limiter.take('a'), limiter.take('a')]).toEqual([0, 1])
  })

  it('of several replicas allows each of them its part, and one request at least', () => {
    const clock = createFakeClock()
    let replicas = 2
    const limiter = createLimiter({ burst: 4, perSecond: 1 }, clock.now, () => replicas)
    expect([limiter.take('a'), limiter.take('a'), limiter.take('a')]).toEqual([0, 0, 2])
    clock.advance(2000)
    expect([limiter.take('a'), limiter.take('a')]).toEqual([0, 2])
    replicas = 8
    expect([limiter.take('b'), limiter.take('b')]).toEqual([0, 8])
  })

  it('names the seconds of a refusal, which is HTTP 429', () => {
    const limiter = createLimiter({ burst: 1, perSecond: 0.1 }, createFakeClock().now)
    expect(() => takeOrRefuse(limiter, 'a', 'this address')).not.toThrow()
    expect(() => takeOrRefuse(limiter, 'b', 'this address')).not.toThrow()
    expect(() => takeOrRefuse(limiter, 'a', 'this address')).toThrow(
      expect.objectContaining({
        ...{ code: 'temporarily_unavailable', status: 429, retryAfter: 10 },
        message: 'too many requests of this address; come back in 10 s',
      }),
    )
    expect(() => refuseIf(0, 'this address')).not.toThrow()
    expect(() => refuseIf(1, 'this address')).toThrow('come back in 1 s')
  })

  it.each([
    ['back', -3_600_000],
    ['forward', 3_600_000],
  ])('neither opens nor closes when the clock of the system jumps %s', (_, jump) => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] })
    const limiter = createLimiter({ burst: 1, perSecond: 1 })
    expect([limiter.take('a'), limiter.take('a')]).toEqual([0, 1])
    vi.setSystemTime(Date.now() + jump)
    expect(limiter.take('a')).toBe(1)
    vi.advanceTimersByTime(1000)
    expect(limiter.take('a')).toBe(0)
    vi.useRealTimers()
  })
})

describe('the address of a request', () => {
  const request = (remoteAddress: string, forwarded?: string) =>
    ({
      socket: { remoteAddress },
      headers: { ...(forwarded && { 'x-forwarded-for': forwarded }) },
    }) as unknown as IncomingMessage
  it.each([
    ['its connection', request('10.0.0.1'), [], '10.0.0.1'],
    ['its connection, whatever a client claims', request('10.0.0.1', '1.1.1.1'), [], '10.0.0.1'],
    ['what a trusted proxy saw', request('10.0.0.1', '1.1.1.1, 2.2.2.2'), ['10.0.0.1'], '2.2.2.2'],
    [
      'what a proxy of a trusted network saw',
      request('10.0.0.1', '1.1.1.1, 2.2.2.2'),
      ['10.0.0.0/24'],
      '2.2.2.2',
    ],
    [
      'its connection, from outside that network',
      request('10.0.1.1', '1.1.1.1'),
      ['10.0.0.0/24'],
      '10.0.1.1',
    ],
    ['of IPv4 in IPv6, plain', request('::ffff:10.0.0.1'), [], '10.0.0.1'],
  ])('is %s', (_, asked, proxies, expected) =>
    expect(addressOf(asked, createAddressSet(proxies))).toBe(expected),
  )

  it('counts with its network where it is of IPv6', () => {
    expect(limitKeyOf('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2')
    expect(limitKeyOf('2001:db8::1')).toBe('2001:db8:0:0')
    // Both addresses of the loopback are this machine, and share its limits.
    expect(limitKeyOf('::1')).toBe('127.0.0.1')
    expect(limitKeyOf('::2')).toBe('0:0:0:0')
    expect(limitKeyOf('10.0.0.1')).toBe('10.0.0.1')
  })
})
