import { describe, expect, it } from 'vitest'
import { isOwnHost } from './own-host.ts'
import { singleHeader } from './single-header.ts'

describe('a request names this service with', () => {
  it.each([
    'localhost',
    'LOCALHOST:8083',
    'node.example',
    'Node.Example:65535',
    '127.0.0.1',
    '192.0.2.7:1',
    '[::1]',
    '[2001:db8::1]:8083',
  ])('%s', (host) => {
    expect(isOwnHost(host, ['node.example'])).toBe(true)
  })

  it.each([
    undefined,
    '',
    'evil.example',
    'node.example.evil',
    'xlocalhost',
    'localhost.evil.example',
    '::1',
    'localhost:',
    'localhost:123456',
    'localhost:80x',
    'localhost:80:80',
    '127.0.0.1.evil.example',
    '[::1',
    '::1]',
    '[localhost]',
    '[]',
  ])('and not with %s', (host) => {
    expect(isOwnHost(host, ['node.example'])).toBe(false)
  })

  it('up to 300 characters', () => {
    const name = `${'x'.repeat(300)}`
    expect(isOwnHost(name, [name])).toBe(true)
    expect(isOwnHost(`${name}x`, [`${name}x`])).toBe(false)
  })
})

describe('a header that must not be repeated', () => {
  it('has its value, whatever the case of its name', () => {
    expect(singleHeader(['a', '1', 'DPoP', '2', 'dpopx', '3', 'x', 'dpop'], 'dpop')).toBe('2')
    expect(singleHeader(['DPOP', ''], 'dpop')).toBe('')
  })

  it('has no value if it is missing, or repeated', () => {
    expect(singleHeader([], 'dpop')).toBeUndefined()
    expect(singleHeader(['a', 'dpop', 'abcd', 'x'], 'dpop')).toBeUndefined()
    expect(singleHeader(['dpop', '1', 'x', 'y', 'DPoP', '1'], 'dpop')).toBeUndefined()
    expect(singleHeader(['dpop', '', 'DPoP', '1'], 'dpop')).toBeUndefined()
  })
})
