/** No promise that is held for later callers outlives its rejection. */
import { describe, expect, it } from 'vitest'
import { findCachedPromises } from './cached-promises.ts'
import { parseSource, readSources } from './sources.ts'

/** Variables that hold a promise without `service-kit/share`, and why a rejection does not stay in them. */
const exceptions: Readonly<Record<string, string>> = {
  'packages/service-kit/src/share/share.ts current': 'the mechanism itself',
  'packages/service-kit/src/http-app/health.ts last': 'never rejects, and is asked again after a second',
  'packages/service-kit/src/store/document.ts writing': 'never rejects: each failure goes to its own callers',
  'packages/service-kit/src/store/learned-store.ts turns':
    'one for each key; dropped when it settles, and a failure is tried again',
  'packages/service-kit/src/store/sqlite.ts reopening': 'a failure stands for a second, on purpose',
  'packages/client/src/backend/issuer-keys.ts running':
    'the library has no service-kit; dropped when it settles',
  'packages/client/src/node/network/shared-lookup.ts asking':
    'the library has no service-kit; dropped when it settles',
  'packages/client/src/edge-session.ts running': 'the library has no service-kit; dropped when it settles',
  'apps/cli/src/archive/component/host/clocks.ts waiting': 'never rejects; dropped when it settles',
  'apps/cli/src/archive/component/host/io.ts #reading': 'never rejects; dropped when it settles',
  'apps/cli/src/archive/component/host/io.ts this.#reading': 'the same',
  'apps/cli/src/archive/component/host/worker.ts compiled': 'a failure makes the deployment fail',
  'apps/cli/src/archive/component/host/worker.ts sent': 'of one response, and is not there before it',
  'apps/discovery/src/stores/embedded/durable-copy.ts writing': 'dropped when it settles, and planned again',
  'apps/runtime/src/device/cloud/retry.ts running': 'never rejects: a failure is reported and tried again',
  'apps/runtime/src/services/containers/containers.ts resuming': 'dropped when it settles',
  'apps/runtime/src/services/containers/serving.ts handingOver': 'never rejects; dropped when it settles',
  'apps/runtime/src/services/turns.ts last': 'never rejects; dropped when it settles',
  'apps/runtime/src/services/engines/function/platform/storage.ts pending':
    'runs in the sandbox; a failure ends its program',
}

it('every promise that is held for later callers is held by service-kit/share', () => {
  const sources = readSources('packages', 'apps')
  const found = sources.flatMap((source) =>
    findCachedPromises(source).map((each) => ({ place: each, name: `${source.path} ${each.split(' ')[1]}` })),
  )
  expect(found.filter(({ name }) => !Object.hasOwn(exceptions, name)).map(({ place }) => place)).toEqual([])
  const names = new Set(found.map(({ name }) => name))
  expect(Object.keys(exceptions).filter((name) => !names.has(name))).toEqual([])
})

describe('the rule', () => {
  it.each([
    'let opened: Promise<Store> | undefined',
    'let opened: undefined | Promise<Store> = undefined',
    'class A { #opened: Promise<Store> | undefined }',
    'const opened = new Map<string, Promise<Store>>()',
    'let opened\nopened ??= open().then(use)',
  ])('finds %s', (code) => {
    expect(findCachedPromises(parseSource('example.ts', code))).toHaveLength(1)
  })

  it.each([
    'const opened = shareResult(open)',
    'const opened: Promise<Store> = open()',
    'let opened: Store | undefined',
    'let turn = Promise.resolve()',
  ])('accepts %s', (code) => {
    expect(findCachedPromises(parseSource('example.ts', code))).toEqual([])
  })
})
