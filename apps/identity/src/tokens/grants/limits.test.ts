/** Each limit counts for its own kind of caller, whatever else the callers have in common or do not. */
import { OAuthError } from '@selvedge/protocol'
import { expect, it, vi } from 'vitest'
import { createLimits } from './limits.ts'

/** Limits of three requests for the kinds of caller that a test names, and of many for all others. */
function limitsOf(few: Partial<Record<'address' | 'client' | 'account' | 'node', number>>, replicas = 1) {
  const enrolled: string[] = []
  const joined: string[] = []
  const limits = createLimits({
    address: 100,
    client: 100,
    account: 100,
    node: 100,
    ...few,
    replicas: () => replicas,
    enrolments: { take: async (key) => (enrolled.push(key) > 1 ? 60 : 0), giveBack: async () => undefined },
    joins: {
      async take(key) {
        joined.push(key)
        return joined.filter((each) => each === key).length > 2 ? 60 : 0
      },
      giveBack: async () => undefined,
    },
  })
  return { limits, enrolled, joined }
}

/** How many of some requests are let through before one is refused. */
function countOf(take: (at: number) => void): number {
  for (let at = 0; at < 100; at++) {
    try {
      take(at)
    } catch (cause) {
      if (cause instanceof OAuthError && cause.code === 'temporarily_unavailable') return at
      throw cause
    }
  }
  return 100
}

it('the clients of one account share its limit, and leave another account its own', () => {
  const { limits } = limitsOf({ account: 4 })
  expect(countOf((at) => limits.takeFor(`client-${at}`, 'a'))).toBe(4)
  expect(countOf(() => limits.takeFor('another', 'a'))).toBe(0)
  expect(countOf(() => limits.takeFor('another', 'b'))).toBe(4)
})

it('the accounts of one client share its limit, and leave another client its own', () => {
  const { limits } = limitsOf({ client: 4 })
  expect(countOf((at) => limits.takeFor('c', `account-${at}`))).toBe(4)
  expect(countOf(() => limits.takeFor('c', 'another'))).toBe(0)
  expect(countOf(() => limits.takeFor('d', 'another'))).toBe(4)
})

it('a node has a limit of its own', () => {
  const { limits } = limitsOf({ node: 4 })
  expect(countOf(() => limits.takeNode('n'))).toBe(4)
  expect(countOf(() => limits.takeNode('m'))).toBe(4)
})

it('an address has a limit of its own, and of IPv6 a whole network', () => {
  const { limits } = limitsOf({ address: 4 })
  expect(countOf(() => limits.takeAddress('192.0.2.1'))).toBe(4)
  expect(countOf(() => limits.takeAddress('192.0.2.2'))).toBe(4)
  expect(countOf((at) => limits.takeAddress(`2001:db8::${at}`))).toBe(4)
})

it('a limit is of one minute: what was used is earned back in it', () => {
  const time = vi.spyOn(performance, 'now').mockReturnValue(0)
  const { limits } = limitsOf({ node: 4 })
  const take = () => limits.takeNode('n')
  expect(countOf(take)).toBe(4)
  time.mockReturnValue(14_999)
  expect(countOf(take)).toBe(0)
  time.mockReturnValue(15_000)
  expect(countOf(take)).toBe(1)
  time.mockReturnValue(75_000)
  expect(countOf(take)).toBe(4)
  time.mockRestore()
})

it('a refusal names the kind of caller', async () => {
  const { limits } = limitsOf({ address: 1, client: 1, node: 1 })
  const refusalOf = (take: () => void) => {
    take()
    expect(take).toThrow(OAuthError)
    try {
      take()
    } catch (cause) {
      return (cause as Error).message.split(';')[0]
    }
  }
  expect(refusalOf(() => limits.takeAddress('192.0.2.1'))).toBe('too many requests of this address')
  expect(refusalOf(() => limits.takeFor('c', 'a'))).toBe('too many requests of this client')
  expect(refusalOf(() => limits.takeNode('n'))).toBe('too many requests of this node')
  const { limits: others } = limitsOf({ account: 1 })
  expect(refusalOf(() => others.takeFor('c', 'a'))).toBe('too many requests of this account')
  await others.takeEnrolment('192.0.2.1')
  await expect(others.takeEnrolment('192.0.2.1')).rejects.toThrow(
    'too many requests of new nodes from this address',
  )
})

it('replicas divide each limit among them', () => {
  const { limits } = limitsOf({ address: 4, client: 4, account: 4, node: 4 }, 2)
  expect(countOf(() => limits.takeAddress('192.0.2.1'))).toBe(2)
  expect(countOf((at) => limits.takeFor('c', `account-${at}`))).toBe(2)
  expect(countOf((at) => limits.takeFor(`client-${at}`, 'a'))).toBe(2)
  expect(countOf(() => limits.takeNode('n'))).toBe(2)
})

it('devices that join are counted by their network, and by their key', async () => {
  const { limits, joined } = limitsOf({})
  await limits.takeJoin('k', '2001:db8::1')
  await limits.takeJoin('k', '2001:db8:0:1::1')
  await expect(limits.takeJoin('k', '192.0.2.1')).rejects.toThrow('devices that join by this key')
  await limits.takeJoin('l', '2001:db8::2')
  await expect(limits.takeJoin('m', '2001:db8::3')).rejects.toThrow('devices that join from this address')
  expect(joined).not.toContain('m')
})

it('new nodes are counted by the network of their address', async () => {
  const { limits, enrolled } = limitsOf({})
  await limits.takeEnrolment('2001:db8::1')
  await expect(limits.takeEnrolment('2001:db8::2')).rejects.toMatchObject({ code: 'temporarily_unavailable' })
  expect(new Set(enrolled).size).toBe(1)
})
