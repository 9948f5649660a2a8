import { describe, expect, it } from 'vitest'
import { isLocal, readNoProxyEntry } from './no-proxy.ts'

const matches = (entry: string, url: string) => readNoProxyEntry(entry)?.(new URL(url))

describe('an entry of NO_PROXY', () => {
  it.each([
    ['*', 'https://anything.example'],
    ['example.com', 'https://example.com'],
    ['example.com', 'https://a.b.example.com'],
    ['EXAMPLE.com.', 'https://example.COM./'],
    ['.example.com', 'https://a.example.com'],
    ['*.example.com', 'https://a.example.com'],
    ['example.com:8443', 'https://a.example.com:8443'],
    ['example.com:443', 'https://example.com'],
    ['example.com:80', 'http://example.com'],
    ['host', 'https://host'],
    ['10.0.0.1', 'https://10.0.0.1'],
    ['10.0.0.0/8', 'https://10.255.0.1:99'],
    ['10.0.0.0/8', 'https://[::ffff:10.1.2.3]'],
    ['10.0.0.1:8080', 'http://10.0.0.1:8080'],
    ['0.0.0.0/0', 'http://192.0.2.1'],
    ['2001:db8::/32', 'https://[2001:db8::1]'],
    ['2001:db8::1', 'https://[2001:DB8:0::1]'],
    ['[2001:db8::1]:8443', 'https://[2001:db8::1]:8443'],
  ])('%s has %s', (entry, url) => expect(matches(entry, url)).toBe(true))

  it.each([
    ['example.com', 'https://notexample.com'],
    ['example.com', 'https://example.com.attacker.example'],
    ['.example.com', 'https://example.com'],
    ['*.example.com', 'https://example.com'],
    ['example.com:8443', 'https://example.com'],
    ['10.0.0.0/8', 'https://11.0.0.1'],
    ['10.0.0.0/8', 'https://10.0.0.1.example'],
    ['10.0.0.1:8080', 'http://10.0.0.1'],
    ['2001:db8::/32', 'https://[2001:db9::1]'],
    ['[2001:db8::1]:8443', 'https://[2001:db8::1]'],
  ])('%s has no %s', (entry, url) => expect(matches(entry, url)).toBe(false))

  it.each([
    '',
    ' ',
    'a b',
    '10.0.0.0/33',
    '2001:db8::/129',
    '192.168.*',
    '1.2.3',
    'http://a.example',
    'a..b',
    '*a',
    'a/b',
    `${'a'.repeat(301)}`,
  ])('is not %j', (entry) => expect(readNoProxyEntry(entry)).toBeUndefined())
})

describe('a host of this machine or its link', () => {
  it.each([
    'http://localhost:1',
    'https://a.localhost',
    'http://127.0.0.1',
    'http://127.9.9.9',
    'http://2130706433',
    'http://[::1]:8083',
    'http://[::ffff:127.0.0.1]',
    'http://0.0.0.0',
    'http://[::]',
    'http://169.254.1.1',
    'http://[fe80::1]',
  ])('%s', (url) => expect(isLocal(new URL(url))).toBe(true))

  it.each([
    'https://localhost.example',
    'https://128.0.0.1',
    'https://10.0.0.1',
    'https://[fd00::1]',
    'https://notlocalhost',
  ])('is not %s', (url) => expect(isLocal(new URL(url))).toBe(false))
})
