/** A duration has its unit in its name: `graceSeconds`, `pauseMs`. */
import { describe, expect, it } from 'vitest'
import { parseSource, readSources } from './sources.ts'
import { findUnitless } from './units.ts'

/** Names that others gave, each with the source of its unit. */
const given = new Map([
  [
    'apps/identity/src/registry/projects/projects.ts accessLifetime',
    'a member of the record of a project: seconds',
  ],
  [
    'apps/identity/src/registry/projects/projects.ts developerLifetime',
    'a member of the record of a project: seconds',
  ],
  ['packages/service-kit/src/http/server.ts requestTimeout', 'an option of node:http: milliseconds'],
  ['packages/service-kit/src/http/server.ts keepAliveTimeout', 'an option of node:http: milliseconds'],
  ['packages/service-kit/src/websocket/rpc-sockets.ts closeTimeout', 'an option of ws: milliseconds'],
  ['packages/protocol/src/tokens/leases.ts maxLifetime', 'exported by an npm package: seconds'],
  ['packages/protocol/src/tokens/profiles.ts maxLifetime', 'exported by an npm package: seconds'],
  ['packages/protocol/src/tokens/time-token.ts maxLifetime', 'exported by an npm package: seconds'],
])

it('every duration has its unit in its name', () => {
  const found = readSources('packages', 'apps').flatMap(findUnitless)
  const nameOf = (each: string) => each.replace(/:\d+ /, ' ')
  expect(found.filter((each) => !given.has(nameOf(each)))).toEqual([])
  expect(new Set(found.map(nameOf))).toEqual(new Set(given.keys()))
})

describe('the rule', () => {
  const findingsIn = (code: string) => findUnitless(parseSource('example.ts', code))

  it.each([
    'interface A { readonly interval: number }',
    'interface A { readonly maxAge?: number }',
    'function a(grace: number) {}',
    'const pause = 250',
    'const leaseTimeout = 60 * 1000',
    'const times = { wait: 500 } as const',
    'function a({ delay = 5 }) {}',
    'class A { #timeout = 5 }',
  ])('finds %s', (code) => {
    expect(findingsIn(code)).toHaveLength(1)
  })

  it.each([
    'interface A { readonly intervalMs: number }',
    'function a(graceSeconds: number) {}',
    'const image = 250',
    "execFile('x', { timeout: 500 })",
    'const interval = setInterval(f, pauseMs)',
    'interface A { readonly interval: Duration }',
  ])('accepts %s', (code) => {
    expect(findingsIn(code)).toEqual([])
  })
})
