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

describe('a table of routes', () => {
  const route = (prefix: string) => ({ id: prefix, prefixes: [prefix, `/api${prefix}`] }) as unknown as Route

  it('is empty until it follows containers', () => {
    expect(createRoutes(() => 'a').find('/c/web')).toBeUndefined()
  })

  it('is made again for other containers and for another account, and not for each request', () => {
    let account = 'a'
    let present = [route('/c/one')]
    let builds = 0
    const routes = createRoutes(() => account)
    routes.follow({
      routes() {
        builds++
        return present
      },
    })
    const found = () => ['/c/one', '/api/c/one', '/c/two'].map((path) => routes.find(path)?.route.id)
    expect(found()).toEqual(['/c/one', '/c/one', undefined])
    expect(builds).toBe(1)
    present = [route('/c/two')]
    expect(found()).toEqual(['/c/one', '/c/one', undefined])
    routes.refresh()
    expect(found()).toEqual([undefined, undefined, '/c/two'])
    present = []
    account = 'b'
    expect(found()).toEqual([undefined, undefined, undefined])
    expect(builds).toBe(3)
    routes.follow({ routes: () => [route('/c/one')] })
    expect(found()).toEqual(['/c/one', '/c/one', undefined])
  })
})
