import type { Ipv4Range } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { readDestinations } from './destinations.ts'

const read = (entries: readonly string[], ...allowed: readonly string[]) =>
  readDestinations(
    entries,
    allowed.map((each): Ipv4Range => {
      const [network = '', port] = each.split(':')
      return { network, port: port === undefined ? undefined : Number(port) }
    }),
  )

describe('where packets of a container may lead', () => {
  it('is to all public addresses only with the word for it', () => {
    expect(read(['public']).isPublic).toBe(true)
    expect(read(['api.example.com']).isPublic).toBe(false)
    expect(read([]).isPublic).toBe(false)
  })

  it('is to names, each with its ports', () => {
    expect([...read(['a.example', 'a.example:8080', 'b.example:1', 'b.example:1']).names]).toEqual([
      ['a.example', [80, 443, 8080]],
      ['b.example', [1]],
    ])
  })

  it.each(['1.1.1.1:53', '1.1.1.0/24:53', '0.0.0.0/0:53', '8.0.0.0/5:53'])(
    '%s has public addresses: the rules leave out the others in it',
    (entry) => {
      const { ranges, local, refused } = read([entry])
      expect(ranges).toEqual([{ network: entry.replace(':53', ''), ports: [53] }])
      expect([local, refused]).toEqual([[], []])
    },
  )

  it.each([
    '10.1.2.3:502',
    '10.1.2.0/24:502',
    '192.168.1.1:502',
    '100.64.0.1:502',
    '172.16.0.0/12:502',
    '198.18.0.1:502',
  ])('%s is not public: packets reach it only if the device allows it', (entry) => {
    expect(read([entry])).toMatchObject({ ranges: [], local: [], refused: [entry] })
    expect(read([entry], '0.0.0.0/0').local).toEqual([{ network: entry.replace(':502', ''), ports: [502] }])
  })

  it.each([
    ['10.1.2.3:502', '10.1.2.0/24', true],
    ['10.1.2.3:502', '10.1.2.3', true],
    ['10.1.2.3:502', '10.1.2.4', false],
    ['10.1.2.3:502', '10.1.2.0/24:502', true],
    ['10.1.2.3:502', '10.1.2.0/24:503', false],
    ['10.1.2.0/24:502', '10.1.2.0/24', true],
    ['10.1.2.0/23:502', '10.1.2.0/24', false],
    ['10.1.2.0/24:502', '10.1.2.0/25', false],
    ['10.1.2.77/24:502', '10.1.2.0/24', true],
    // Its network has addresses before the one that it names.
    ['10.1.2.128/24:502', '10.1.2.128/25', false],
  ])('%s, allowed is %s: %s', (entry, allowed, isReached) => {
    expect(read([entry], allowed).local).toHaveLength(isReached ? 1 : 0)
  })

  it('is to the allowed ports of an entry alone; the rest is refused', () => {
    const { local, refused } = read(['10.1.2.3'], '10.1.2.3:443')
    expect(local).toEqual([{ network: '10.1.2.3', ports: [443] }])
    expect(refused).toEqual(['10.1.2.3'])
  })

  it.each([
    '169.254.169.254',
    '169.254.0.0/16',
    '169.254.169.254/31:80',
    '168.63.129.16:80',
    '100.100.100.200',
    '192.0.0.192/32:80',
    '[fe80::1]:80',
    '[::1]',
    '[2606:4700::1111]',
    'host:0',
    'host:99999',
    '1.1.1.1:99999',
  ])('never is to %s, even if the device allows everything', (entry) => {
    expect(read([entry], '0.0.0.0/0', '169.254.0.0/16')).toMatchObject({
      ranges: [],
      local: [],
      refused: [entry],
      names: new Map(),
    })
  })

  it('does not depend on how often an entry is there, and 256 entries count', () => {
    const many = Array.from({ length: 300 }, (_, at) => `h${at}.example:1`)
    const { names, refused } = read([...many, ...many])
    expect(names.size).toBe(256)
    expect(refused).toEqual(many.slice(256))
  })
})
