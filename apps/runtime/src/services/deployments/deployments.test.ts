/** What the document of the deployments may contain, and how it changes. */
import { describe, expect, it } from 'vitest'
import {
  blobsOf,
  type Content,
  type Deployments,
  deploymentsFormat,
  kindsInUse,
  type StoredContainer,
  withHistory,
  withImageUsed,
  without,
  withoutAccount,
  withoutUnused,
} from './deployments.ts'

const digestOf = (character: string) => `sha256:${character.repeat(64)}`
const [f, o, blob] = [digestOf('f'), digestOf('0'), digestOf('b')]
const functionContent: Content = {
  kind: 'function',
  config: { digest: f, size: 1 },
  layers: [],
  entry: { digest: blob, size: 2, language: 'js' },
  size: 3,
}
const ociContent: Content = {
  kind: 'oci',
  config: { digest: o, size: 1 },
  layers: [{ digest: blob, size: 2, diffId: digestOf('9') }],
  entry: null,
  size: 3,
}
const image = (accountId: string, digest: string) => ({
  ...{ clientId: 'cli', accountId, name: 'app', repoTags: ['app:1'], digest, created: 1, usedAt: 1 },
})
const container = (accountId: string, digest: string, more: Partial<StoredContainer> = {}) => ({
  ...{ clientId: 'cli', accountId, name: 'web', image: 'app', imageKey: `${accountId}/cli/app`, digest },
  ...{ dataKey: `data of ${accountId}`, env: { A: 'b' }, created: 1, wanted: 'running' as const },
  ...{ failed: null, note: null, revision: 1, restarts: 0, ...more },
})
const entry = (event: string, by: Deployments['history'][string][number]['by'] = null) => ({
  ...{ at: 1, event, rule: '', by, detail: '' },
})
const document: Deployments = {
  contents: { [f]: functionContent, [o]: ociContent },
  images: { 'a/cli/app': image('a', f), 'b/cli/app': image('b', o) },
  containers: { 'a/cli/web': container('a', f), 'b/cli/web': container('b', o) },
  leaving: { old: 'oci', older: 'function' },
  history: {
    'a/cli/web': [entry('deployed', { accountId: 'a', clientId: 'cli' })],
    'b/cli/web': [entry('restarted')],
  },
}
const read = (value: unknown) => deploymentsFormat.read(value, 2)

describe('a document', () => {
  it('begins without anything, and is read as it was written', () => {
    expect(read(deploymentsFormat.initial)).toEqual(deploymentsFormat.initial)
    expect(read(document)).toEqual(document)
    const ended = container('a', f, { wanted: 'stopped', failed: 'it crashed', note: 'it was rolled back' })
    const wasm = { ...functionContent, entry: { ...functionContent.entry!, language: 'wasm' as const } }
    const other = { ...document, contents: { [f]: wasm }, containers: { 'a/cli/web': ended } }
    expect(read(other)).toEqual(other)
  })

  it.each([
    [
      'a digest with something before it',
      { contents: { [f]: { ...functionContent, config: { digest: `x${f}`, size: 1 } } } },
    ],
    ['a digest with something behind it', { images: { x: image('a', `${f}f`) } }],
    ['a digest in capitals', { containers: { x: container('a', f.replaceAll('f', 'F')) } }],
    ['a digest of one digit', { images: { x: image('a', 'sha256:f') } }],
    ['a kind that is unknown', { leaving: { x: 'vm' } }],
    ['a state that is unknown', { containers: { x: { ...container('a', f), wanted: '' } } }],
    ['an unknown member', { more: {} }],
    ['an unknown member of a content', { contents: { [f]: { ...functionContent, more: 1 } } }],
    [
      'an unknown member of a blob',
      { contents: { [f]: { ...functionContent, config: { digest: f, size: 1, more: 1 } } } },
    ],
    [
      'an unknown member of a layer',
      { contents: { [o]: { ...ociContent, layers: [{ ...ociContent.layers[0]!, more: 1 }] } } },
    ],
    [
      'an unknown member of an entry',
      { contents: { [f]: { ...functionContent, entry: { ...functionContent.entry!, more: 1 } } } },
    ],
    ['an unknown member of an image', { images: { x: { ...image('a', f), more: 1 } } }],
    ['an unknown member of a container', { containers: { x: { ...container('a', f), more: 1 } } }],
    ['an unknown member of a history', { history: { x: [{ ...entry('x'), more: 1 }] } }],
    [
      'an unknown member of an owner',
      { history: { x: [entry('x', { accountId: 'a', clientId: 'c', more: 1 } as never)] } },
    ],
  ])('with %s is refused', (_, more) => {
    expect(() => read({ ...document, ...more })).toThrow()
  })
})

describe('a history', () => {
  it('has the last 50 entries', () => {
    let value = document
    for (let at = 0; at < 60; at++) value = withHistory(value, 'a/cli/web', entry(`${at}`))
    const events = value.history['a/cli/web']!.map(({ event }) => event)
    expect(events).toEqual(Array.from({ length: 50 }, (_, at) => `${at + 10}`))
    expect(value.history['b/cli/web']).toEqual(document.history['b/cli/web'])
  })

  it('of 50 removed containers stays beside a new entry, the oldest ones leave first', () => {
    const removed = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`a/cli/gone${at}`, [entry('removed')]]))
    const goneOf = (count: number) => {
      const history = { ...document.history, ...removed(count) }
      const after = Object.keys(withHistory({ ...document, history }, 'a/cli/new', entry('removed')).history)
      expect(after).toEqual(expect.arrayContaining(['a/cli/web', 'b/cli/web', 'a/cli/new']))
      return after.filter((key) => key.startsWith('a/cli/gone'))
    }
    expect(goneOf(50)).toHaveLength(50)
    expect(goneOf(3)).toHaveLength(3)
    expect(goneOf(52)).toEqual(Object.keys(removed(52)).slice(2))
  })
})

it('an image is used now, unless it is gone', () => {
  const { images, ...rest } = withImageUsed(document, 'a/cli/app', 9)
  const { images: before, ...others } = document
  expect(rest).toEqual(others)
  expect(images).toEqual({ ...before, 'a/cli/app': { ...image('a', f), usedAt: 9 } })
  expect(withImageUsed(document, 'a/cli/other', 9)).toBe(document)
})

it('an account leaves with all that it has; its data is still to be removed', () => {
  expect(withoutAccount(document, 'a', { shared: 'oci' })).toEqual({
    contents: { [o]: ociContent },
    images: { 'b/cli/app': image('b', o) },
    containers: { 'b/cli/web': container('b', o) },
    history: { 'b/cli/web': document.history['b/cli/web'] },
    leaving: { ...document.leaving, 'data of a': 'function', shared: 'oci' },
  })
})

it('content that an image or a container needs stays, other content leaves', () => {
  expect(withoutUnused(document)).toEqual(document)
  const contentsOf = (more: Partial<Deployments>) =>
    Object.keys(withoutUnused({ ...document, ...more }).contents)
  expect(contentsOf({ images: {} })).toEqual([f, o])
  expect(contentsOf({ containers: {}, images: { x: image('a', o) } })).toEqual([o])
  expect(contentsOf({ containers: {}, images: {} })).toEqual([])
})

it('the blobs of contents are their configurations, layers and entries', () => {
  expect(blobsOf({ contents: { [f]: functionContent } })).toEqual(new Set([f, blob]))
  expect(blobsOf({ contents: { [o]: ociContent } })).toEqual(new Set([o, blob]))
})

it('a record without a key has the others', () => {
  expect(without({ a: 1, b: 2 }, 'a')).toEqual({ b: 2 })
})

const running = (...containers: readonly StoredContainer[]) =>
  kindsInUse({ ...document, containers: Object.fromEntries(containers.entries()) })

it('the engines in use are those of containers that should run, each once', () => {
  expect(running(container('a', f), container('b', f), container('a', o))).toEqual(['function', 'oci'])
})

it('a container that was stopped, or has failed, needs no engine, so it prevents no upgrade', () => {
  const [stopped, failed] = [{ wanted: 'stopped' as const }, { failed: 'it crashed' }]
  expect(running(container('a', o, stopped), container('a', o, failed))).toEqual([])
})
