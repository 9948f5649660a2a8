import { expect, it } from 'vitest'
import { readLocalAddress } from './local-address.ts'

it.each([
  ['/run/a.sock', { path: '/run/a.sock' }],
  ['127.0.0.1:0', { addresses: ['127.0.0.1'], port: 0 }],
  ['localhost:65535', { addresses: ['127.0.0.1', '::1'], port: 65_535 }],
  ['[::1]:9090', { addresses: ['::1'], port: 9090 }],
])('%s is on this machine', (text, expected) => expect(readLocalAddress(text)).toEqual(expected))

it.each([
  ...['', 'a.sock', './a.sock', '127.0.0.1', '127.0.0.1:', '127.0.0.1:65536', '127.0.0.1:100000'],
  ...[
    '0.0.0.0:1',
    '127.0.0.2:1',
    '::1:1',
    '[::]:1',
    'localhost.evil.example:1',
    'x127.0.0.1:1',
    '127x0.0.1:1',
  ],
  ...['127.0x0.1:1', '127.0.0x1:1', '127.0.0.1:1x', '127.0.0.1:-1', 'http://127.0.0.1:1'],
])('%j is not', (text) => expect(readLocalAddress(text)).toBeUndefined())
