import { describe, expect, it } from 'vitest'
import { readReference } from './reference.ts'

const pin = `sha256:${'a'.repeat(64)}`

describe('a reference to an image', () => {
  it.each([
    ['busybox', 'registry-1.docker.io', 'library/busybox', 'latest'],
    ['me/app:1.0', 'registry-1.docker.io', 'me/app', '1.0'],
    ['docker.io/library/busybox:stable', 'registry-1.docker.io', 'library/busybox', 'stable'],
    ['docker://registry.example/app', 'registry.example', 'app', 'latest'],
    ['registry.example:5000/team/app:1.0', 'registry.example:5000', 'team/app', '1.0'],
    ['localhost/app', 'localhost', 'app', 'latest'],
    ['127.0.0.1:5000/a/b/c:x', '127.0.0.1:5000', 'a/b/c', 'x'],
    [`registry.example/app@${pin}`, 'registry.example', 'app', pin],
    [`registry.example/app:1.0@${pin}`, 'registry.example', 'app', pin],
  ])('%s', (text, registry, repository, version) => {
    expect(readReference(text)).toMatchObject({ registry, repository, version })
  })

  it('has all of its parts', () => {
    expect(readReference(`registry.example:5000/team/app:1.0@${pin}`)).toEqual({
      ...{ registry: 'registry.example:5000', repository: 'team/app', version: pin, digest: pin },
      text: 'registry.example:5000/team/app:1.0',
    })
    expect(readReference('busybox')).toEqual({
      ...{ registry: 'registry-1.docker.io', repository: 'library/busybox', version: 'latest' },
      ...{ digest: undefined, text: 'docker.io/library/busybox:latest' },
    })
    expect(readReference(`docker.io/app@${pin}`).text).toBe(`docker.io/library/app:${'a'.repeat(12)}`)
    expect(readReference('registry.example/app').text).toBe('registry.example/app:latest')
  })

  it.each([
    'localhost',
    'a_b__c-d--e/f.g',
    `app:${'x'.repeat(128)}`,
    'app:_x.y-Z',
    'x'.repeat(400),
    'h/app',
    'localhost/app',
    'a-b.example/app',
    'a--b.example:1/app',
    '1a.example/app',
  ])('may be %s', (text) => {
    expect(() => readReference(text)).not.toThrow()
  })

  it.each([
    'x'.repeat(401),
    'x docker://app',
    'docker://docker://app',
    'app:',
    'app:-x',
    'app:x y',
    `app:${'x'.repeat(129)}`,
    '-registry.example/app',
    '.registry.example/app',
    'registry.example-/app',
    'registry.example./app',
    'registry.example:/app',
    'registry.example:x/app',
    'registry.example:123456/app',
    'registry_a.example/app',
    'Registry.example/app',
    `app@${pin}a`,
    `app@x${pin}`,
    `app@${pin.slice(0, -1)}`,
    `app@${pin}@${pin}`,
    `app@${pin.toUpperCase()}`,
    'app@',
    '_a',
    'a_',
    'a___b',
    'a..b',
    'a._b',
    '-a',
    'a-',
    'a/',
    '/a',
    'team:x/app',
    'x app',
  ])('is not %j', (text) => {
    const shown = JSON.stringify(text.slice(0, 200))
    expect(() => readReference(text)).toThrow(
      expect.objectContaining({
        reason: 'invalid_params',
        message: `${shown} is neither an absolute path, nor an upload: handle, nor an image reference`,
      }),
    )
  })

  it.each([
    '',
    'UPPER/case',
    'a//b',
    'a/../b',
    '../a',
    'http://x/y',
    'a:b:c',
    'app@sha256:abc',
    'a b',
    'x'.repeat(500),
    'e.0/app',
    '1.2/app',
    '0x7f.1/app',
    '127.1:5000/app',
    'registry.example:99999/app',
  ])('%j is no reference', (text) => {
    expect(() => readReference(text)).toThrow(expect.objectContaining({ reason: 'invalid_params' }))
  })
})
