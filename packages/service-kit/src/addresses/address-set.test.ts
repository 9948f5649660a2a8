import { describe, expect, it } from 'vitest'
import { createAddressSet, isAddressOrNetwork } from './address-set.ts'

describe('a set of addresses', () => {
  it.each([
    [['10.0.0.1'], '10.0.0.1', true],
    [['10.0.0.1'], '10.0.0.2', false],
    [['10.0.0.0/8'], '10.255.0.1', true],
    [['10.0.0.0/8'], '11.0.0.1', false],
    [['192.0.2.0/24', 'fd00::/8'], 'fd12::1', true],
    [['fd00::/8'], 'fe80::1', false],
    [['2001:db8::1'], '2001:0db8:0:0::1', true],
    [['0.0.0.0/0'], '::1', false],
    [['0.0.0.0/0'], '', false],
    [['0.0.0.0/0'], 'unknown', false],
    [[], '10.0.0.1', false],
  ])('%j includes %s: %s', (entries, address, expected) =>
    expect(createAddressSet(entries).includes(address)).toBe(expected),
  )

  it.each(['10.0.0.1', '10.0.0.0/8', '10.0.0.0/0', '::1', 'fd00::/8', '::/128'])('accepts %s', (text) =>
    expect(isAddressOrNetwork(text)).toBe(true),
  )
  it.each([
    '',
    'haproxy',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0/8',
    '10.0.0.0/8/8',
    '*',
    '[::1]',
    '10.0.0.0/-1',
    ' 10.0.0.1',
    'a host at 10.0.0.1',
    '10.0.0.1 ',
  ])('does not accept %j', (text) => expect(isAddressOrNetwork(text)).toBe(false))

  it('ignores what is no address', () => {
    expect(createAddressSet(['haproxy', '10.0.0.1', '']).includes('10.0.0.1')).toBe(true)
  })
})
