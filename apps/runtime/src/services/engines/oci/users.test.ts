/** Which user IDs containers get: members of an app that share volumes have one range, and everything else has one of its own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Plan } from '../engine.ts'
import { labels } from './create-body.ts'
import type { EngineApi } from './engine-api.ts'
import type { EngineTraits } from './engine-traits.ts'
import { rangeLabel } from './id-ranges.ts'
import type { Users } from './profile.ts'
import { createUsersOf, type UsersOf } from './users.ts'

const owner = 'runtime'
const podman = { isPodman: true, isRootless: false } as EngineTraits

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'users-'))
  for (const name of ['uid', 'gid']) writeFileSync(join(folder, name), 'containers:1000000:2621440\n')
})
afterAll(() => rmSync(folder, { recursive: true }))

/** The labels of all volumes of an engine. */
let volumes: Record<string, string>[]
let usersOf: UsersOf
beforeEach(() => {
  volumes = []
  usersOf = createUsersOf(owner, { uid: join(folder, 'uid'), gid: join(folder, 'gid') })
})

const api = {
  read: async (path: string) => {
    if (!path.startsWith('/volumes')) return []
    const [, filters = ''] = path.split('filters=')
    const { label } = JSON.parse(decodeURIComponent(filters)) as { label: [string] }
    const [name = '', value] = label[0].split('=')
    const found = volumes.filter((each) => (value === undefined ? name in each : each[name] === value))
    return { Volumes: found.map((Labels, at) => ({ Name: `v${at}`, Labels })) }
  },
} as unknown as EngineApi

/** Of an app of a client. */
const sharedBy = (app: string, clientId = 'c') => `a/${clientId}/${app}/volumes`
const planOf = (key: string, sharedDataKey?: string): Plan =>
  ({ key, dataKey: key, revision: 1, ...(sharedDataKey !== undefined && { sharedDataKey }) }) as Plan

const choose = (plan: Plan) => usersOf.choose(api, podman, plan)
const rangeOf = (users: Users) => (users.kind === 'own' ? rangeLabel(users.range) : users.kind)
/** The users of a container that the engine has then, with its volumes. */
async function started(plan: Plan, ...dataKeys: readonly string[]): Promise<string> {
  const { users, release } = await choose(plan)
  const range = rangeOf(users)
  for (const dataKey of dataKeys)
    volumes.push({ [labels.owner]: owner, [labels.container]: dataKey, [labels.ids]: range })
  release()
  return range
}

const shop = sharedBy('shop')

it('members that share volumes have the same IDs, and all others have IDs of their own', async () => {
  const first = await started(planOf('a/c/shop-a', shop), shop)
  expect(await started(planOf('a/c/shop-b', shop), shop)).toBe(first)
  const others = [
    await started(planOf('a/c/shop-alone'), 'a/c/shop-alone'),
    await started(planOf('a/c/other-a', sharedBy('other')), sharedBy('other')),
    await started(planOf('a/d/shop-a', sharedBy('shop', 'd')), sharedBy('shop', 'd')),
  ]
  expect(new Set([first, ...others]).size).toBe(4)
})

it('members that start at once have the same IDs before there is a volume', async () => {
  const all = [planOf('a/c/shop-a', shop), planOf('a/c/shop-b', shop)]
  const chosen = await Promise.all(all.map(choose))
  expect(rangeOf(chosen[0]!.users)).toBe(rangeOf(chosen[1]!.users))
  chosen[0]!.release()
  const alone = await choose(planOf('a/c/alone'))
  expect(rangeOf(alone.users)).not.toBe(rangeOf(chosen[1]!.users))
})

it('the first member that shares brings the IDs of its own volumes', async () => {
  const own = await started(planOf('a/c/shop-a'), 'a/c/shop-a')
  expect(await started(planOf('a/c/shop-a', shop), shop)).toBe(own)
  expect(await started(planOf('a/c/shop-b', shop), shop)).toBe(own)
})

it('a member with own volumes of other users does not start: it could not use one of both', async () => {
  await started(planOf('a/c/shop-a', shop), shop)
  await started(planOf('a/c/shop-b'), 'a/c/shop-b')
  await expect(choose(planOf('a/c/shop-b', shop))).rejects.toMatchObject({
    reason: 'container_failed',
    message: expect.stringContaining('other user IDs'),
  })
})

it('shared volumes of users of the device stay theirs', async () => {
  volumes.push({ [labels.owner]: owner, [labels.container]: shop })
  expect(await started(planOf('a/c/shop-a', shop))).toBe('device')
  await started(planOf('a/c/shop-b'), 'a/c/shop-b')
  await expect(choose(planOf('a/c/shop-b', shop))).rejects.toMatchObject({ reason: 'container_failed' })
})

it('volumes of another runtime count as used, and are not those of the app', async () => {
  const theirs = await started(planOf('a/c/shop-a', shop), shop)
  volumes = volumes.map((each) => ({ ...each, [labels.owner]: 'other' }))
  expect(await started(planOf('a/c/shop-a', shop))).not.toBe(theirs)
})
