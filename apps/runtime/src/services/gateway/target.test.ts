import { expect, it } from 'vitest'
import type { Route } from '../containers/views.ts'
import { findTarget } from './target.ts'

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
