import { describe, expect, it } from 'vitest'
import { isListed } from './egress.ts'

describe('the list of hosts that a function may call', () => {
  it.each([
    ['api.example.com', 'https://api.example.com/x', true],
    ['api.example.com', 'http://api.example.com/x', true],
    ['api.example.com', 'http://api.example.com:8080/x', false],
    ['api.example.com:8080', 'http://api.example.com:8080/x', true],
    ['api.example.com:8080', 'http://api.example.com/x', false],
    ['example.com', 'https://api.example.com/', false],
    ['example.com', 'https://example.com.evil.example/', false],
    ['api.example.com', 'https://API.EXAMPLE.COM/', true],
    ['10.0.0.5:8080', 'http://10.0.0.5:8080/', true],
    ['10.0.0.5', 'http://0x0a000005/', true],
    ['127.0.0.1:1', 'http://127.0.0.1:2/', false],
    ['[::1]:8080', 'http://[::1]:8080/', true],
    ['[::1]', 'http://[0:0::1]/', true],
    ['[::1]:8080', 'http://[::2]:8080/', false],
  ])('%s, asked for %s: %s', (listed, url, expected) => {
    expect(isListed([listed], new URL(url))).toBe(expected)
  })
})
