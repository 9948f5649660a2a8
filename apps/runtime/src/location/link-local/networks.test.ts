import { expect, it } from 'vitest'
import { holds, linkOf } from './networks.ts'

it.each([
  ['10.77.1.1', '255.255.255.0', '10.77.1.254', true],
  ['10.77.1.1', '255.255.255.0', '10.77.2.1', false],
  ['200.0.0.1', '255.0.0.0', '200.9.9.9', true],
  ['10.0.0.1', '255.255.255.255', '10.0.0.2', false],
  ['10.0.0.1', '255.0.0.0', 'fe80::1%left', false],
])('%s with %s is on the link of %s: %s', (own, mask, other, shares) => {
  expect(linkOf(own, mask).holds(other)).toBe(shares)
})

it('a network holds the addresses of its links', () => {
  const network = { name: 'left', addresses: ['10.77.1.1'], links: [linkOf('10.77.1.1', '255.255.255.0')] }
  expect(holds(network, '10.77.1.9')).toBe(true)
  expect(holds(network, '10.77.2.9')).toBe(false)
  expect(holds(network, '2001:db8::1')).toBe(false)
})
