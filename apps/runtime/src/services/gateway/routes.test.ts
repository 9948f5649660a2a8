import { describe, expect, it } from 'vitest'
import { growthOf, linear } from '../../../../../tests/harness/cpu.ts'
import type { Route } from '../containers/views.ts'
import { createRoutes } from './routes.ts'

function routesOf(...prefixes: string[]) {
  const routes = createRoutes(() => 'a')
  routes.follow({
    routes: () => prefixes.map((prefix) => ({ id: prefix, prefixes: [prefix] }) as unknown as Route),
  })
  return routes
}

describe('the routes', () => {
  const routes = routesOf('/c/echo/v1', '/c/echo/v1/deep', '/api/x')
  it.each([
    ['/c/echo/v1', '/c/echo/v1', '/'],
    ['/c/echo/v1/', '/c/echo/v1', '/'],
    ['/c/echo/v1/a/b', '/c/echo/v1', '/a/b'],
    ['/c/echo/v1/deep', '/c/echo/v1/deep', '/'],
    ['/c/echo/v1/deep/a', '/c/echo/v1/deep', '/a'],
    ['/c/echo/v1/deeper/a', '/c/echo/v1', '/deeper/a'],
    ['/api/x//', '/api/x', '//'],
  ])('lead from %s to the longest prefix', (path, prefix, rest) => {
    expect(routes.find(path)).toMatchObject({ prefix, rest })
  })

  it.each(['/', '/c/echo', '/c/echo/v10', '/d/echo/v1', '//c/echo/v1', ''])(
    'lead from %j nowhere',
    (path) => {
      expect(routes.find(path)).toBeUndefined()
      expect(routesOf().find(path)).toBeUndefined()
    },
  )

  it('are found in time linear in the path', async () => {
    // A quadratic search needed 154 ms for the longest.
    expect(await growthOf(1000, (length) => '/'.repeat(length), routes.find)).toBeLessThan(linear)
  })
})
