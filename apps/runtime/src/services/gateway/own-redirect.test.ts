import { expect, it } from 'vitest'
import { ownRedirect } from './own-redirect.ts'

const place = { prefix: '/c/app', clientId: 'c', host: 'localhost:8083', port: 3000 }
const shown = (location: string, more = {}) => ownRedirect(location, { ...place, ...more })

it.each([
  ['/', '/c/app/'],
  ['/login', '/c/app/login'],
  ['/login?next=/c/app#top', '/c/app/login?next=/c/app#top'],
  ['/c/application', '/c/application'],
  ['/api/v1', '/c/app/api/v1'],
  ['/cc/x', '/c/app/cc/x'],
  ['/\\evil.example', '/c/app/\\evil.example'],
  ['http://localhost:8083/login', '/c/app/login'],
  ['http://LOCALHOST:8083/login', '/c/app/login'],
  ['https://localhost:8083/login', '/c/app/login'],
  ['http://localhost:8083', '/c/app/'],
  ['http://localhost:8083?x', '/c/app/?x'],
  ['http://localhost:3000/folder/', '/c/app/folder/'],
  ['http://localhost:3000/c/app/folder/', '/c/app/folder/'],
])('%s leads to %s', (location, expected) => {
  expect(shown(location)).toBe(expected)
})

it.each([
  ['the prefix', '/c/app'],
  ['a path below the prefix', '/c/app/login'],
  ['a query at the prefix', '/c/app?x'],
  ['another service of the client', '/c/other/login'],
  ['the prefix of the request', 'http://localhost:8083/c/app/login'],
  ['the path of the client', '/c'],
  ['a scheme that ends alike', 'xhttp://localhost:8083/x'],
  ['a host with two ports', 'http://x:localhost:8083/x'],
  ['another host', 'http://other.example/login'],
  ['another host with a name that begins alike', 'http://localhost.example:8083/x'],
  ['another port', 'http://localhost:8084/login'],
  ['no port', 'http://localhost/login'],
  ['a user', 'http://localhost:8083@evil.example/'],
  ['a user and the own host', 'http://x@localhost:8083/'],
  ['a backslash', 'http://localhost:8083\\@evil.example/'],
  ['a host without a scheme', '//evil.example/x'],
  ['the own host without a scheme', '//localhost:8083/x'],
  ['another scheme', 'javascript:alert(1)'],
  ['an app', 'myapp://localhost:8083/x'],
  ['a relative path', 'next/page'],
  ['a query', '?x=1'],
  ['nothing', ''],
  ['a malformed port', 'http://localhost:8083x/'],
])('leaves %s as it is: %s', (_, location) => {
  expect(shown(location)).toBe(location)
})

it('compares ports that a URL leaves out', () => {
  expect(shown('http://device.example/x', { host: 'device.example', port: undefined })).toBe('/c/app/x')
  expect(shown('https://device.example:443/x', { host: 'device.example:443' })).toBe('/c/app/x')
  expect(shown('http://device.example/x', { host: 'device.example:8083', port: 80 })).toBe('/c/app/x')
  expect(shown('http://[::1]:8083/x', { host: '[::1]:8083' })).toBe('/c/app/x')
  const secure = { host: 'device.example:443', port: undefined }
  expect(shown('HTTPS://device.example/x', secure)).toBe('/c/app/x')
  expect(shown('http://device.example/x', secure)).toBe('http://device.example/x')
  expect(shown('http://a:b:c/x', { host: 'a:b:c' })).toBe('http://a:b:c/x')
  for (const host of ['', ':8083']) expect(shown('http://:8083/x', { host })).toBe('http://:8083/x')
})

it('changes nothing for a request that names its service in a header, and nothing that is too long', () => {
  expect(shown('/login', { prefix: '/' })).toBe('/login')
  expect(shown(`/${'x'.repeat(8191)}`)).toMatch(/^\/c\/app\/x/)
  expect(shown(`/${'x'.repeat(8192)}`)).toMatch(/^\/x/)
})
