/** Members find each other by the names that they have on common networks, and nothing else. */
import { expect, it } from 'vitest'
import { memberNames } from './member-names.ts'
import type { Release, StoredApp, StoredApps, StoredMember } from './stored-apps.ts'

const member = (service: string, networks: Readonly<Record<string, readonly string[]>>): StoredMember => ({
  service,
  networks: Object.entries(networks).map(([network, aliases]) => ({ network, aliases: [...aliases] })),
  dependsOn: [],
  volumes: [],
})
const release = (...members: StoredMember[]): Release => ({
  revision: 1,
  deployedAt: 0,
  members,
  secrets: [],
  completed: [],
})
const app = (
  name: string,
  current: Release | null,
  next: Release | null = null,
  accountId = 'a',
): StoredApp => ({
  accountId,
  clientId: 'c',
  name,
  created: 0,
  current,
  next: next && { release: next, revisions: [], removed: [] },
  note: null,
})
const all = (...apps: StoredApp[]): StoredApps =>
  Object.fromEntries(apps.map((each) => [`${each.accountId}/c/${each.name}`, each]))

const shop = release(
  member('web', { front: [], back: ['www'] }),
  member('db', { back: ['sql', 'DB2'] }),
  member('proxy', { front: ['web'] }),
  member('alone', { other: [] }),
)
const other = release(member('db', { back: ['sql'] }), member('mail', { back: [] }))
const find = (apps: StoredApps, key: string, name: string) => memberNames(() => apps, key)?.find(name)

it('by the name of the service and its aliases, in any case of letters', () => {
  const apps = all(app('shop', shop))
  for (const name of ['db', 'DB', 'sql', 'db2']) expect(find(apps, 'a/c/shop-web', name)).toBe('a/c/shop-db')
  expect(find(apps, 'a/c/shop-db', 'www')).toBe('a/c/shop-web')
  expect(find(apps, 'a/c/shop-web', 'web')).toBe('a/c/shop-web')
})

it('by names on a common network only', () => {
  const apps = all(app('shop', shop))
  expect(find(apps, 'a/c/shop-proxy', 'db')).toBe(undefined)
  expect(find(apps, 'a/c/shop-proxy', 'www')).toBe(undefined)
  expect(memberNames(() => apps, 'a/c/shop-alone')).toBe(undefined)
})

it('by the name of a service before the alias of another one', () => {
  expect(find(all(app('shop', shop)), 'a/c/shop-proxy', 'web')).toBe('a/c/shop-web')
})

it('of the same app of the same account', () => {
  const apps = all(app('mail', other), app('shop', shop), app('shop', other, null, 'b'))
  expect(find(apps, 'a/c/shop-web', 'mail')).toBe(undefined)
  expect(find(apps, 'a/c/mail-mail', 'db')).toBe('a/c/mail-db')
  expect(find(apps, 'b/c/shop-mail', 'db')).toBe('b/c/shop-db')
  expect(memberNames(() => apps, 'a/c/single')).toBe(undefined)
  for (const name of ['', '__proto__', 'constructor', 'shop-db', 'a/c/shop-db'])
    expect(find(apps, 'a/c/shop-web', name)).toBe(undefined)
})

it('of the version that is being deployed before those of the present one', () => {
  const next = release(member('web', { back: [] }), member('store', { back: ['db'] }))
  const apps = all(app('shop', shop, next))
  expect(find(apps, 'a/c/shop-web', 'db')).toBe('a/c/shop-store')
  expect(find(apps, 'a/c/shop-web', 'sql')).toBe('a/c/shop-db')
  expect(find(all(app('shop', null, next)), 'a/c/shop-web', 'store')).toBe('a/c/shop-store')
})

it('and reach those that have a network in common with them, by the version that is being deployed', () => {
  const reaches = (apps: StoredApps, key: string, other: string) =>
    memberNames(() => apps, key)?.reaches(other)
  const apps = all(app('shop', shop), app('mail', other))
  expect(reaches(apps, 'a/c/shop-web', 'a/c/shop-db')).toBe(true)
  expect(reaches(apps, 'a/c/shop-db', 'a/c/shop-web')).toBe(true)
  for (const far of ['a/c/shop-proxy', 'a/c/shop-alone', 'a/c/shop-db', 'a/c/mail-db', 'b/c/shop-web', ''])
    expect(reaches(apps, 'a/c/shop-db', far)).toBe(false)
  const next = release(
    member('web', { back: [] }),
    member('db', { inner: [] }),
    member('tool', { inner: [] }),
  )
  expect(reaches(all(app('shop', shop, next)), 'a/c/shop-web', 'a/c/shop-db')).toBe(false)
  expect(reaches(all(app('shop', shop, next)), 'a/c/shop-tool', 'a/c/shop-db')).toBe(true)
})
