import { describe, expect, it } from 'vitest'
import type { Route } from '../containers/views.ts'
import { findNamedTarget, findTarget, findUpgradeTarget } from './target.ts'

const route = {} as Route
const routes = {
  find: (path: string) =>
    path.startsWith('/c/web') ? { route, prefix: '/c/web', rest: path.slice(6) } : undefined,
}

it('finds the service of a path without its dot segments', () => {
  expect(findTarget(routes, '/x/../c/web/a?b')).toEqual({
    match: { route, prefix: '/c/web', rest: '/a' },
    path: { path: '/c/web/a', query: '?b' },
  })
})

it.each([
  ['/c/other', 'not_found'],
  ['/c/web/../other', 'not_found'],
  ['*', 'not_found'],
  ['/c/web/%zz', 'invalid_params'],
])('%j is refused as %s', (url, reason) => {
  expect(() => findTarget(routes, url)).toThrow(expect.objectContaining({ reason }))
})

it('shows no more than 200 characters of a path that it refuses', () => {
  expect(() => findTarget(routes, `/${'a'.repeat(300)}`)).toThrow(`"/${'a'.repeat(199)}"`)
})

describe('a service that a header names', () => {
  it('gets the whole path', () => {
    expect(findNamedTarget(routes, '/x/../a.B/C?d', '/c/web')).toEqual({
      match: { route, prefix: '/', rest: '/a.B/C' },
      path: { path: '/a.B/C', query: '?d' },
    })
  })

  it.each([
    ['/a.B/C', '/c/web/', 'not_found'],
    ['/a.B/C', '/c/web/x', 'not_found'],
    ['/a.B/C', '/c/other', 'not_found'],
    ['/a.B/C', '', 'not_found'],
    ['/c/web', '/c/web, /c/web', 'not_found'],
    ['/a.B/%zz', '/c/web', 'invalid_params'],
  ])('%j at %j is refused as %s', (url, named, reason) => {
    expect(() => findNamedTarget(routes, url, named)).toThrow(expect.objectContaining({ reason }))
  })
})

describe('an upgrade', () => {
  const serviceOf = (clientId: string, hasEvents: boolean) => {
    const prefixes = [`/${clientId}/web`, '/api/web']
    return { prefixes, settings: { 'MCM.WEBSOCKET_SUPPORT': hasEvents } } as unknown as Route
  }
  const all = { c: serviceOf('c', true), quiet: serviceOf('quiet', false), ws: serviceOf('ws', true) }
  const table: Record<string, Route> = {
    '/c/web': all.c,
    '/api/web': all.c,
    '/quiet/web': all.quiet,
    '/ws/web': all.ws,
    // A path of the client "ws" that reads like the events of the client "c".
    '/ws/c/web': all.ws,
  }
  const everything = {
    find: (path: string) => {
      const prefix = Object.keys(table)
        .filter((each) => path === each || path.startsWith(`${each}/`))
        .sort((a, b) => b.length - a.length)[0]
      return prefix === undefined
        ? undefined
        : { route: table[prefix]!, prefix, rest: path.slice(prefix.length) || '/' }
    },
  }

  it.each(['/ws/c/web', '/ws/c/web/', '/ws/c/web/room?a=b', '/x/../ws/c/web', '/ws/x/../c/web'])(
    '%s is for the events of the service of that client, whatever the client "ws" has',
    (url) => {
      const target = findUpgradeTarget(everything, url)
      expect([target.match.route === all.c, target.isOfEvents]).toEqual([true, true])
    },
  )

  it('outside of /ws/ is for the service itself', () => {
    const { match, isOfEvents } = findUpgradeTarget(everything, '/c/web/socket?a=b')
    expect([match.route === all.c, match.rest, isOfEvents]).toEqual([true, '/socket', undefined])
  })

  it('for the events of the client "ws" has its ID behind the prefix, as for every other client', () => {
    expect(findUpgradeTarget(everything, '/ws/ws/web').match.route).toBe(all.ws)
  })

  it.each(['/ws/quiet/web', '/ws/api/web', '/ws/web', '/ws/', '/ws/edge-service-api/v1', '/ws/ws/ws/c/web'])(
    '%s finds nothing',
    (url) => {
      expect(() => findUpgradeTarget(everything, url)).toThrow(
        expect.objectContaining({ reason: 'not_found' }),
      )
    },
  )
})
