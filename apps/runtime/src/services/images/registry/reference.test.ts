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
