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

it('the table has all fields that are known to act on an origin', () => {
  expect([...originWideFields].sort()).toEqual([
    'accept-ch',
    'accept-ch-lifetime',
    'ad-auction-allowed',
    'alt-svc',
    'attribution-reporting-register-os-source',
    'attribution-reporting-register-os-trigger',
    'attribution-reporting-register-source',
    'attribution-reporting-register-trigger',
    'cache-group-invalidation',
    'clear-site-data',
    'critical-ch',
    'critical-origin-trial',
    'expect-ct',
    'idp-signin-status',
    'include-referred-token-binding-id',
    'nel',
    'observe-browsing-topics',
    'origin-agent-cluster',
    'origin-isolation',
    'origin-trial',
    'public-key-pins',
    'public-key-pins-report-only',
    'report-to',
    'reporting-endpoints',
    'sec-session-challenge',
    'sec-session-registration',
    'sec-shared-storage-writable',
    'secure-session-challenge',
    'secure-session-registration',
    'service-worker-allowed',
    'set-login',
    'shared-storage-write',
    'sourcemap',
    'speculation-rules',
    'strict-transport-security',
    'use-as-dictionary',
    'x-sourcemap',
  ])
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
  ['Refresh', ' 0.5\t'],
])('passes %s, which acts on its own resource', (name, value) => {
  expect(passed(name, value)).toEqual([name, value])
})

it.each(['', '5 x', 'x 5', '0; url=/other/app', '0;/other/app', '0,url=//host', 'x'])(
  'drops Refresh %j, which can name a page of another service',
  (value) => expect(passed('Refresh', value)).toEqual([]),
)
