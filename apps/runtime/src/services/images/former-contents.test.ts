/** What a former release frees, and how former releases make room as images do. */
import { expect, it } from 'vitest'
import type { Content } from '../deployments/deployments.ts'
import { contentsOf, unusedReleases } from './former-contents.ts'

const digestOf = (text: string) => `sha256:${text}`
const content = (name: string, layers: Readonly<Record<string, number>>, entry?: number): Content => ({
  kind: entry === undefined ? 'oci' : 'function',
  config: { digest: digestOf(name), size: 1 },
  layers: Object.entries(layers).map(([layer, size]) => ({
    ...{ digest: digestOf(layer), diffId: digestOf(layer), size },
  })),
  entry: entry === undefined ? null : { digest: digestOf(`${name}-entry`), size: entry, language: 'js' },
  size: 1000,
})
const release = (key: string, ...contents: Content[]) => ({ key, deployedAt: 7, contents })

it('a release frees what no image and no container needs, each part once', () => {
  const one = content('one', { base: 100, own: 10 })
  const two = content('two', { base: 100, own: 10, more: 5 })
  const present = content('present', { base: 100 })
  expect(unusedReleases([release('a/c/shop', one, two)], contentsOf([release('', present)]))).toEqual([
    expect.objectContaining({ owner: 'a/c/', bytes: 1 + 1 + 10 + 5, usedAt: 7 }),
  ])
  expect(unusedReleases([release('a/c/shop', content('f', {}, 40))], {})).toMatchObject([{ bytes: 41 }])
})

it('a release frees nothing while all of it is needed', () => {
  const one = content('one', { base: 100 })
  expect(
    unusedReleases([release('a/c/shop', one), release('a/c/empty')], contentsOf([release('', one)])),
  ).toEqual([])
})
