import { describe, expect, it } from 'vitest'
import type { Destinations } from './destinations.ts'
import { closingMember, openingMember, openingOf, rulesOf } from './rules.ts'

const closed: Destinations = { isPublic: false, names: new Map(), ranges: [], local: [], refused: [] }
const rules = (destinations: Partial<Destinations>) =>
  rulesOf({ destinations: { ...closed, ...destinations }, gateway: '10.89.0.1', resolverPort: 4053 }).split(
    '\n',
  )
const output = (destinations: Partial<Destinations>) =>
  rules(destinations)
    .filter((each) => each.startsWith('add rule ip selvedge output '))
    .map((each) => each.slice('add rule ip selvedge output '.length))
const at = (all: readonly string[], part: string) => all.findIndex((each) => each.includes(part))

describe('the rules of a container', () => {
  it('refuse all that they do not name: both directions, forwarding, and IPv6', () => {
    for (const family of ['ip', 'ip6'])
      for (const hook of ['output', 'input', 'forward'])
        expect(rules({})).toContain(
          `add chain ${family} selvedge ${hook} { type filter hook ${hook} priority 0; policy drop; }`,
        )
    expect(output({}).at(-1)).toBe('reject with icmp type admin-prohibited')
  })

  it('let packets out to public addresses only with the word for it', () => {
    const isOpen = (all: readonly string[]) => all.includes('meta l4proto { tcp, udp } accept')
    expect(isOpen(output({}))).toBe(false)
    expect(isOpen(output({ isPublic: true }))).toBe(true)
  })

  it('decide in this order: members, never, allowed by the device, not public, listed, opened by names, public', () => {
    const all = output({
      isPublic: true,
      local: [{ network: '10.1.2.0/24', ports: [502] }],
      ranges: [{ network: '1.0.0.0/8', ports: [53, 853] }],
    })
    const order = [
      'ip daddr @members meta l4proto { tcp, udp } accept',
      'ip daddr { 0.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16, 224.0.0.0/4, 240.0.0.0/4, 100.100.100.200, 168.63.129.16, 192.0.0.192 } drop',
      'ip daddr 10.1.2.0/24 meta l4proto { tcp, udp } th dport { 502 } accept',
      '192.168.0.0/16',
      'ip daddr 1.0.0.0/8 meta l4proto { tcp, udp } th dport { 53, 853 } accept',
      '@opened',
      'meta l4proto { tcp, udp } accept',
    ].map((part) => at(all, part))
    expect(order).not.toContain(-1)
    expect(order.slice(0, -1)).toEqual(order.slice(0, -1).toSorted((one, other) => one - other))
    expect(all.indexOf('meta l4proto { tcp, udp } accept')).toBeGreaterThan(order[5]!)
  })

  it('limit new connections before anything but the container itself and known connections is let out', () => {
    const all = output({ isPublic: true })
    expect(all.slice(0, 3)).toEqual([
      'oif lo accept',
      'ct state established,related accept',
      'ct state new limit rate over 200/second burst 400 packets drop',
    ])
  })

  it('let nothing in but connections of the runtime', () => {
    const input = rules({}).filter((each) => each.startsWith('add rule ip selvedge input '))
    expect(input).toEqual([
      'add rule ip selvedge input iif lo accept',
      'add rule ip selvedge input ct state established,related accept',
      'add rule ip selvedge input ip saddr 10.89.0.1 accept',
    ])
  })

  it('lead the name server of the container to the resolver, and nothing else of the device is reached', () => {
    expect(rules({})).toContain(
      'add rule ip selvedge names ip daddr 192.0.2.53 udp dport 53 dnat to 10.89.0.1:4053',
    )
    expect(output({}).filter((each) => each.includes('10.89.0.1'))).toEqual([
      'ip daddr 10.89.0.1 udp dport 4053 accept',
    ])
  })

  it('can be applied again: what names have opened stays open', () => {
    const all = rules({})
    expect(
      all.some((each) => each.startsWith('flush set ip selvedge opened') || each.startsWith('delete')),
    ).toBe(false)
    for (const chain of ['output', 'input', 'forward', 'names'])
      expect(all).toContain(`flush chain ip selvedge ${chain}`)
  })
})

it('an address of a name is opened for a time, and for that time again', () => {
  const openings = [
    { address: '1.1.1.1', port: 443 },
    { address: '1.0.0.1', port: 80 },
  ]
  const timed = 'add element ip selvedge opened { 1.1.1.1 . 443 timeout 60s, 1.0.0.1 . 80 timeout 60s }'
  expect(openingOf(openings, 60).trim().split('\n')).toEqual([
    timed,
    'delete element ip selvedge opened { 1.1.1.1 . 443, 1.0.0.1 . 80 }',
    timed,
  ])
})

it('a member is opened and closed by its address, and rules that are set again close all of them', () => {
  expect(openingMember('10.89.1.2')).toBe('add element ip selvedge members { 10.89.1.2 }\n')
  expect(closingMember('10.89.1.2')).toBe('delete element ip selvedge members { 10.89.1.2 }\n')
  const all = rules({})
  expect(all.indexOf('flush set ip selvedge members')).toBeGreaterThan(at(all, 'add set ip selvedge members'))
})
