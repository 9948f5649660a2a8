import type { ImageRecord } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { fullReference, imageNameOf, imageOnDevice } from './device-images.ts'

const digest = `sha256:${'0123456789ab'.padEnd(64, 'f')}`

it.each([
  ['redis', 'docker.io/library/redis:latest', 'redis-latest'],
  ['redis:7', 'docker.io/library/redis:7', 'redis-7'],
  ['nodered/node-red:4.0', 'docker.io/nodered/node-red:4.0', 'nodered-node-red-4.0'],
  ['docker.io/redis:7', 'docker.io/library/redis:7', 'redis-7'],
  [
    'registry.example:5000/team/app:1.0',
    'registry.example:5000/team/app:1.0',
    'registry.example-5000-team-app-1.0',
  ],
  ['localhost/app', 'localhost/app:latest', 'localhost-app-latest'],
  [`redis@${digest}`, 'docker.io/library/redis:0123456789ab', 'redis-0123456789ab'],
  [`redis:7@${digest}`, 'docker.io/library/redis:7', 'redis-7'],
])('%s is %s, and is stored as %s', (text, full, name) => {
  expect([fullReference(text), imageNameOf(text)]).toEqual([full, name])
})

it('a long reference has a name that a device accepts', () => {
  for (const text of [`registry.example/${'x'.repeat(250)}:1`, '::::', '/////', '', `${'-'.repeat(200)}`])
    expect(imageNameOf(text)).toMatch(/^[a-z0-9][a-z0-9._-]{0,119}$/)
  const long = (end: string) => imageNameOf(`registry.example/${'x'.repeat(250)}${end}`)
  expect(long('a')).not.toBe(long('b'))
})

it('an image of the device is found by its ID, its name or its reference', () => {
  const image = { id: 'c-cache', name: 'cache', repoTags: ['docker.io/library/redis:7'] } as ImageRecord
  for (const text of ['c-cache', 'cache', 'redis:7', 'docker.io/library/redis:7'])
    expect(imageOnDevice([image], text)).toBe(image)
  for (const text of ['redis', 'redis:8', 'other/redis:7', 'cache:7'])
    expect(imageOnDevice([image], text)).toBe(undefined)
})

it.each([
  [
    'docker save',
    'shop:1.0',
    ['shop:1.0', 'docker.io/library/shop:1.0'],
    ['shop', 'shop:2.0', 'team/shop:1.0'],
  ],
  ['docker save', 'team/shop:1.0', ['team/shop:1.0'], ['shop:1.0', 'localhost/team/shop:1.0']],
  [
    'podman save',
    'localhost/web:1.0',
    ['web:1.0', 'localhost/web:1.0'],
    ['web', 'docker.io/library/web:1.0'],
  ],
])('an archive of %s with the tag %s is found by %s, and not by %s', (_, tag, found, others) => {
  const image = { id: 'c-other', name: 'other', repoTags: [tag] } as ImageRecord
  expect(found.map((text) => imageOnDevice([image], text))).toEqual(found.map(() => image))
  expect(others.map((text) => imageOnDevice([image], text))).toEqual(others.map(() => undefined))
})
