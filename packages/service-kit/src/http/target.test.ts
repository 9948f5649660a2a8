/** The target of a request: its form, its host and its path. */
import type { IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { pathOf, toOriginForm } from './target.ts'

const requestOf = (url: string, method = 'GET') =>
  ({
    url,
    method,
    headers: { host: 'sent.example' },
    rawHeaders: ['Accept', 'host', 'HOST', 'sent.example'],
  }) as unknown as IncomingMessage

it.each([
  ['http://other.example/a/b?c=/d', 'other.example', '/a/b?c=/d'],
  ['HTTPS://other.example:8443/', 'other.example:8443', '/'],
  ['http://[::1]:8083?a', '[::1]:8083', '/?a'],
  ['http://other.example', 'other.example', '/'],
  ['http://other.example//evil.example/', 'other.example', '//evil.example/'],
])('a URL becomes its path, and its host is the Host: %s', (url, host, path) => {
  const request = requestOf(url)
  expect(toOriginForm(request)).toBe(true)
  expect(request.url).toBe(path)
  expect(request.headers.host).toBe(host)
  expect(request.rawHeaders).toEqual(['Accept', 'host', 'HOST', host])
})

it.each(['/', '/a?b', '//other.example/', '/http://other.example/'])('a path stays as it is: %s', (url) => {
  const request = requestOf(url)
  expect(toOriginForm(request)).toBe(true)
  expect(request.url).toBe(url)
  expect(request.headers.host).toBe('sent.example')
})

it.each([
  '',
  'jsonrpc/v1',
  '*',
  'other.example:80',
  'ftp://other.example/',
  'http:/path',
  'http:///path',
  'http://user@other.example/',
  'http://other.example\\evil.example/',
  'http://other.example#evil.example/',
  `http://${'x'.repeat(301)}/`,
  'ws://other.example/',
  'x http://other.example/',
])('another target is not served: %s', (url) => {
  const request = requestOf(url)
  expect(toOriginForm(request)).toBe(false)
  expect(request.url).toBe(url)
})

it('may be an asterisk for OPTIONS', () => {
  expect(toOriginForm(requestOf('*', 'OPTIONS'))).toBe(true)
})

it('has a path, which ends at the first question mark', () => {
  expect(pathOf({ url: '/a/b?c?d' })).toBe('/a/b')
  expect(pathOf({ url: '/a' })).toBe('/a')
  expect(pathOf({})).toBe('')
})
