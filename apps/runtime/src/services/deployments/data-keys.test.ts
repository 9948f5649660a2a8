import { readSettings } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { dataKeysOf, sharedDataKey } from './data-keys.ts'
import type { StoredContainer } from './deployments.ts'
import { keyOf } from './ownership.ts'

const owned = { accountId: 'a', clientId: 'c' }
const owner = { account_id: 'a', client_id: 'c' }
const containerWith = (env: Record<string, string>) =>
  ({ ...owned, dataKey: 'a/c/shop-web', env }) as unknown as StoredContainer

it('a container has its own data', () => {
  expect(dataKeysOf(containerWith({ 'MCM.VOLUMES': 'data:/data' }))).toEqual(['a/c/shop-web'])
})

it('a member that shares volumes has those of its app, too', () => {
  const env = { 'MCM.APP_VOLUMES': 'shop/a:/a, shop/b:/b:ro' }
  expect(dataKeysOf(containerWith(env))).toEqual(['a/c/shop-web', 'a/c/shop/volumes'])
})

it('the volumes of an app are of its owner, and no container has their key', () => {
  const settings = readSettings({ 'MCM.APP_VOLUMES': 'shop/a:/a' })
  const keys = [
    sharedDataKey(owned, settings),
    sharedDataKey({ ...owned, clientId: 'd' }, settings),
    sharedDataKey({ ...owned, accountId: 'b' }, settings),
    ...['shop', 'shop/volumes', 'volumes'].map((name) => keyOf(owner, name)),
  ]
  expect(new Set(keys).size).toBe(keys.length)
})
