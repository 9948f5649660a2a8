import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createAddressSet } from '../addresses/address-set.ts'
import { addressOf, limitKeyOf } from './address.ts'

const proxies = createAddressSet(['10.0.0.1', '2001:db8::1'])
const from = (remoteAddress: string | undefined, forwarded?: string | string[]) =>
  addressOf(
    { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } } as unknown as IncomingMessage,
    proxies,
  )

describe('the address of a request', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8::7', '2001:db8::7'],
    ['::ffff:c000:207', '::ffff:c000:207'],
    ['1::ffff:1.2.3.4', '1::ffff:1.2.3.4'],
    [undefined, ''],
  ])('of the connection of %s is %s', (peer, address) => {
    expect(from(peer)).toBe(address)
    expect(from(peer, '203.0.113.9')).toBe(address)
  })

  it.each<[string | string[] | undefined, string]>([
    ['203.0.113.9', '203.0.113.9'],
    ['198.51.100.1, 203.0.113.9', '203.0.113.9'],
    ['198.51.100.1,  ::ffff:203.0.113.9 ', '203.0.113.9'],
    [['198.51.100.1', '198.51.100.2, 203.0.113.9'], '203.0.113.9'],
    [['198.51.100.1', '198.51.100.2', '203.0.113.9'], '203.0.113.9'],
    ['198.51.100.1,', '10.0.0.1'],
    ['', '10.0.0.1'],
    [[], '10.0.0.1'],
    [undefined, '10.0.0.1'],
  ])('from a trusted proxy is the last one that it reports: %j', (forwarded, address) => {
    expect(from('10.0.0.1', forwarded)).toBe(address)
    expect(from('::ffff:10.0.0.1', forwarded)).toBe(address)
  })
})

describe('the key of a rate limit', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::9', '2001:db8:1:2'],
    ['2001:db8::9', '2001:db8:0:0'],
    ['::1', '127.0.0.1'],
    ['0:0:0:0:0:0:0:1', '127.0.0.1'],
    ['::1%lo', '127.0.0.1'],
    ['::2', '0:0:0:0'],
    ['1::', '1:0:0:0'],
    ['::1:2:3:4:5:6:7', '0:1:2:3'],
    ['::2:3:4:5:6:7', '0:0:2:3'],
    ['1:2:3::7:8', '1:2:3:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['no:address', 'no:address'],
    ['', ''],
  ])('of %s is %s', (address, key) => {
    expect(limitKeyOf(address)).toBe(key)
  })
})
