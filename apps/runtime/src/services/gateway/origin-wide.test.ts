import { expect, it } from 'vitest'
import { responseHeaders } from './headers.ts'
import { originWideFields } from './origin-wide.ts'

const passed = (...raw: string[]) => responseHeaders(raw, { sandboxed: false, requestId: undefined })

it.each([
  'Accept-CH',
  'Alt-Svc',
  'Cache-Group-Invalidation',
  'Clear-Site-Data',
  'Expect-CT',
  'NEL',
  'Origin-Agent-Cluster',
  'Report-To',
  'Reporting-Endpoints',
  'Secure-Session-Registration',
  'Service-Worker-Allowed',
  'Set-Login',
  'SourceMap',
  'Speculation-Rules',
  'STRICT-TRANSPORT-SECURITY',
  'Use-As-Dictionary',
])('drops %s of a service, which acts on the whole origin', (name) => {
  expect(passed(name, 'x', 'X-Own', 'a', name.toUpperCase(), 'y')).toEqual(['X-Own', 'a'])
})

it('drops every field of the table', () => {
  for (const name of originWideFields) expect(passed(name, 'x'), name).toEqual([])
})

it.each([
  ['X-Own', 'a'],
  ['Cache-Control', 'max-age=60'],
  ['Cache-Groups', '"a"'],
  ['ETag', '"1"'],
  ['Vary', 'Accept'],
  ['Access-Control-Allow-Origin', '*'],
  ['Content-Security-Policy', "default-src 'self'"],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Permissions-Policy', 'camera=()'],
  ['Set-Cookie', 'a=1'],
  ['Location', '/c/app/next'],
  ['Link', '</style.css>; rel=preload'],
  ['WWW-Authenticate', 'Bearer'],
  ['Content-Disposition', 'attachment'],
  ['Server-Timing', 'db;dur=5'],
  ['Refresh', '5'],
])('passes %s, which acts on its own resource', (name, value) => {
  expect(passed(name, value)).toEqual([name, value])
})

it.each(['0; url=/other/app', '0;/other/app', '0,url=//host', 'x'])(
  'drops Refresh %j, which can name a page of another service',
  (value) => expect(passed('Refresh', value)).toEqual([]),
)
