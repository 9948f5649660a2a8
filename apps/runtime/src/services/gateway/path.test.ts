import { describe, expect, it } from 'vitest'
import { readPath } from './path.ts'

describe('a path', () => {
  it.each([
    ['/', '/', ''],
    ['/a/b', '/a/b', ''],
    ['/a//b/', '/a//b/', ''],
    ['/a?', '/a', '?'],
    ['/a?b=/../c?d', '/a', '?b=/../c?d'],
    ['/a/b?c#d\\', '/a/b', '?c#d\\'],
    ['/.a/..b/c..', '/.a/..b/c..', ''],
    ['/a%20b/%C3%A9', '/a%20b/%C3%A9', ''],
    ['/a%2fb', '/a%2fb', ''],
    ['/a%2F.b', '/a%2F.b', ''],
    ['/a%3Fb', '/a%3Fb', ''],
  ])('%j is %j with the query %j', (target, path, query) => {
    expect(readPath(target)).toEqual({ path, query })
  })

  it.each([
    ['/a/./b', '/a/b'],
    ['/a/../b', '/b'],
    ['/a/b/../../c', '/c'],
    ['/../../a', '/a'],
    ['/a/.', '/a/'],
    ['/a/b/..', '/a/'],
    ['/..', '/'],
    ['/a/%2e/b', '/a/b'],
    ['/a/%2E%2e/b', '/b'],
    ['/a/.%2e/b', '/b'],
    ['/a/%2e', '/a/'],
    ['/a//../b', '/a/b'],
  ])('%j loses its dot segments: %j', (target, path) => {
    expect(readPath(target)).toEqual({ path, query: '' })
  })

  it.each([
    ['without a slash at its start', 'a/b'],
    ['that is a URL', 'http://h/a'],
    ['that is empty', ''],
    ['that is only a query', '?a'],
    ['with a backslash', '/a\\..\\b'],
    ['with a fragment', '/a#b'],
    ['with malformed percent-encoding', '/a%'],
    ['with malformed percent-encoding', '/a%zz'],
    ['that is not UTF-8', '/%ff'],
    ['with an encoded NUL', '/a%00b'],
    ['that climbs where encoded slashes are decoded', '/a%2f..%2fb'],
    ['that climbs where encoded slashes are decoded', '/..%2fa'],
    ['that climbs where encoded slashes are decoded', '/a%2f..'],
    ['that climbs where encoded backslashes are decoded', '/a%5c..%5cb'],
    ['with an encoded dot segment between encoded slashes', '/a%2f.%2fb'],
    ['with an encoded dot segment between encoded slashes', '/%2e%2f%2e'],
  ])('%s is refused: %j', (_, target) => {
    expect(readPath(target)).toBeUndefined()
  })
})
