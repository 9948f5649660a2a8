import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDocument } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type Deployments,
  deploymentsFormat,
  type StoredContainer,
  without,
} from '../deployments/deployments.ts'
import { type HeldPath, openHeldPaths } from '../deployments/held-paths.ts'
import { keyOf } from '../deployments/ownership.ts'
import { createPathOwners, findTaken, heldAfter, heldNow, ownPrefixesOf } from './path-owners.ts'
import { expectFree } from './requirements.ts'

const day = 24 * 60 * 60 * 1000
const at = (clientId: string, name: string, path: string, more: object = {}) =>
  ({
    accountId: 'a',
    clientId,
    name,
    env: { 'MCM.BASE_API_PATH': path, 'MCM.API_ALIAS': 'true' },
    created: 1,
    ...more,
  }) as unknown as StoredContainer
const keyIn = ({ accountId, clientId, name }: StoredContainer) =>
  keyOf({ account_id: accountId, client_id: clientId }, name)
interface Device {
  readonly value: Deployments
  readonly held: readonly HeldPath[]
}
const put = ({ value, held }: Device, container: StoredContainer, now = 0): Device => ({
  value: { ...value, containers: { ...value.containers, [keyIn(container)]: container } },
  held: heldAfter(value, held, keyIn(container), container, now),
})
const remove = ({ value, held }: Device, container: StoredContainer, now = 0): Device => ({
  value: { ...value, containers: without(value.containers, keyIn(container)) },
  held: heldAfter(value, held, keyIn(container), undefined, now),
})
const empty: Device = { value: deploymentsFormat.initial, held: [] }
const isFree = ({ value, held }: Device, next: StoredContainer, now = 0) => {
  try {
    expectFree(value, heldNow(held, now), keyIn(next), next)
    return true
  } catch {
    return false
  }
}

const paths = ['/pay', '/pay/v1', '/pay/v1/login', '/pay/v10', '/pay/v1.1', '/payment', '/v1/pay', '/PAY/v1']
const related = (one: string, other: string) =>
  `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`)
const pairs = paths.flatMap((one) => paths.map((other) => [one, other, related(one, other)] as const))

describe.each(pairs)('with a project at the alias %s, another one at %s', (one, other, isTaken) => {
  const first = at('c', 'x', one)
  const second = at('d', 'y', other)
  it(isTaken ? 'is refused' : 'is accepted', () => {
    expect(isFree(put(empty, first), second)).toBe(!isTaken)
  })
  it('has the same result while it is stopped, and within a day after its removal', () => {
    const stopped = put(put(empty, first), { ...first, wanted: 'stopped' })
    expect(isFree(stopped, second)).toBe(!isTaken)
    const removed = remove(stopped, first, 1000)
    expect(isFree(removed, second, 1000 + day - 1)).toBe(!isTaken)
    expect(isFree(removed, second, 1000 + day)).toBe(true)
  })
  it('has the same result after the first one was redeployed elsewhere', () => {
    const moved = put(put(empty, first), at('c', 'x', '/elsewhere'), 1000)
    expect(isFree(moved, second, 1000)).toBe(!isTaken)
  })
  it('is accepted without an alias, and for another account', () => {
    const plain = at('d', 'y', other, { env: { 'MCM.BASE_API_PATH': other } })
    expect(isFree(put(empty, first), plain)).toBe(true)
    expect(isFree(put(empty, first), at('d', 'y', other, { accountId: 'b' }))).toBe(true)
  })
})

describe('a path', () => {
  it('at another one of the same project is free, unless it is equal', () => {
    const value = put(empty, at('c', 'x', '/pay/v1'))
    expect(isFree(value, at('c', 'y', '/pay/v1/login'))).toBe(true)
    expect(isFree(value, at('c', 'y', '/pay/v1'))).toBe(false)
    expect(isFree(remove(value, at('c', 'x', '/pay/v1')), at('c', 'y', '/pay/v1'))).toBe(true)
  })

  it('below the alias of another project is refused also to a client named api', () => {
    const next = at('api', 'y', '/pay/v1/login', { env: { 'MCM.BASE_API_PATH': '/pay/v1/login' } })
    expect(isFree(put(empty, at('c', 'x', '/pay/v1')), next)).toBe(false)
  })

  it('that two projects have from an earlier release belongs to the older container, which can be redeployed', () => {
    const older = at('c', 'x', '/pay/v1', { created: 1 })
    const younger = at('d', 'y', '/pay/v1/login', { created: 2 })
    const value = put(put(empty, older), younger)
    expect(ownPrefixesOf(value.value, older)).toEqual(['/c/pay/v1', '/api/pay/v1'])
    expect(ownPrefixesOf(value.value, younger)).toEqual(['/d/pay/v1/login'])
    expect([isFree(value, older), isFree(value, younger)]).toEqual([true, false])
    // The younger one does not hold the path after its removal.
    expect(isFree(remove(value, younger), older)).toBe(true)
  })

  it('is held for each project apart: another one with many removals ends nothing', () => {
    let value = remove(put(empty, at('c', 'x', '/pay')), at('c', 'x', '/pay'))
    for (let count = 0; count < 500; count++) {
      const own = at('d', 'y', `/p${count}`)
      value = remove(put(value, own), own)
    }
    expect(value.held).toHaveLength(402)
    expect(isFree(value, at('d', 'y', '/pay/v1'))).toBe(false)
  })

  it('that is held for a project of one account is free for another account', () => {
    const first = at('c', 'x', '/pay')
    const value = remove(put(empty, first), first)
    expect(isFree(value, at('d', 'y', '/pay', { accountId: 'b' }))).toBe(true)
  })

  it('that its container keeps is not held: nothing is written', () => {
    const first = at('c', 'x', '/pay')
    expect(put(put(empty, first), { ...first, revision: 2 }).held).toBe(empty.held)
  })

  it('that was held by a clock far ahead is free once the clock is right', () => {
    const first = at('c', 'x', '/pay')
    const value = remove(put(empty, first), first, 1000 * day)
    expect(isFree(value, at('d', 'y', '/pay'), 1000 * day)).toBe(false)
    expect(isFree(value, at('d', 'y', '/pay'), 0)).toBe(true)
  })
})

describe('the stored paths', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'paths-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))
  const first = at('c', 'x', '/pay')
  const key = keyIn(first)
  const open = async () => {
    const store = await openDocument(join(folder, 'deployments'), deploymentsFormat)
    const heldPaths = await openHeldPaths(folder)
    const paths = createPathOwners({ store, heldPaths, clock: createFakeClock() })
    return { store, paths, close: () => Promise.all([store.close(), heldPaths.close()]) }
  }
  const gone = (value: Deployments) => ({ ...value, containers: without(value.containers, key) })

  it('are held across a restart, until their account leaves', async () => {
    const { store, paths, close } = await open()
    await store.update((value) => ({ ...value, containers: { [key]: first } }))
    await paths.change(new Map([[key, undefined]]), gone)
    await close()
    const again = await open()
    expect(again.paths.held().map(({ path }) => path)).toEqual(['/c/pay', '/api/pay'])
    const other = at('c', 'x', '/pay', { accountId: 'b' })
    await again.store.update((value) => ({ ...value, containers: { [keyIn(other)]: other } }))
    await again.paths.change(new Map([[keyIn(other), undefined]]), (value) => ({ ...value, containers: {} }))
    expect(again.paths.held()).toHaveLength(4)
    await again.paths.forget('a')
    expect(again.paths.held().map(({ accountId }) => accountId)).toEqual(['b', 'b'])
    await again.close()
  })

  it('are held before the container is gone', async () => {
    const { store, paths, close } = await open()
    await store.update((value) => ({ ...value, containers: { [key]: first } }))
    let heldThen = 0
    await paths.change(new Map([[key, undefined]]), (value) => {
      heldThen = paths.held().length
      return gone(value)
    })
    expect(heldThen).toBe(2)
    await close()
  })
})

describe('of two containers that an earlier release accepted within each other', () => {
  const aliasOf = (own: StoredContainer, ...others: StoredContainer[]) =>
    ownPrefixesOf([own, ...others].reduce((device, each) => put(device, each), empty).value, own).filter(
      (path) => path.startsWith('/api'),
    )
  const outer = at('d', 'y', '/pay', { created: 1 })
  const inner = at('c', 'x', '/pay/v1', { created: 2 })

  it('the older one has the path', () => {
    expect([aliasOf(outer, inner), aliasOf(inner, outer)]).toEqual([['/api/pay'], []])
    const [late, early] = [{ ...outer, created: 3 }, inner]
    expect([aliasOf(late, early), aliasOf(early, late)]).toEqual([[], ['/api/pay/v1']])
  })

  it('the one of the first client ID has the path if they are of the same time', () => {
    const same = { ...outer, created: 2 }
    expect([aliasOf(same, inner), aliasOf(inner, same)]).toEqual([[], ['/api/pay/v1']])
  })
})

it('a path that belongs to another project is named with its client, and until when it is held', () => {
  const other = at('c', 'x', '/pay')
  const next = at('d', 'y', '/pay/v1')
  const device = put(empty, other)
  expect(findTaken(device.value, [], undefined, next)).toEqual({ path: '/api/pay/v1', clientId: 'c' })
  const removed = remove(device, other, 1000)
  expect(findTaken(removed.value, removed.held, undefined, next)).toEqual({
    ...{ path: '/api/pay/v1', clientId: 'c', until: 1000 + day },
  })
})
