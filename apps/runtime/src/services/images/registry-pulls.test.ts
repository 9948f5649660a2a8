/** Pulls that an earlier run left: which of them continue, for how long, and which deployments join them. */
import { readdirSync } from 'node:fs'
import { type ImageRecord, RpcError } from '@selvedge/protocol'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { directNetwork } from '../../../../../tests/harness/direct-network.ts'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import type { Owner } from '../deployments/ownership.ts'
import { openInterrupted } from './interrupted.ts'
import { openRegistryPulls } from './registry-pulls.ts'

const owner = { account_id: 'a', client_id: 'c' }
const source = 'registry.example/app:1'
const now = 5_000_000
const image = (id: string) => ({ id }) as ImageRecord

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(() => folder.remove())
const names = () => readdirSync(folder.path)

/** Notes a pull that never ends, as one of a runtime that was killed. */
async function interrupt(name: string | undefined, { since = now } = {}): Promise<void> {
  const { during } = await openInterrupted(folder.path)
  const begun = Promise.withResolvers<void>()
  void during({ owner, source, name, isUrgent: false, since }, () => {
    begun.resolve()
    return new Promise(() => undefined)
  })
  await begun.promise
}

interface Attempt extends PromiseWithResolvers<ImageRecord> {
  readonly asked: object
  /** Milliseconds that are left of it; undefined: it is new. */
  readonly continuedMs: number | undefined
}

/** The pulls of a runtime that starts. The test decides how each of the attempts ends. */
async function open({ account = 'a', pullMs = undefined as number | undefined } = {}) {
  const attempts: Attempt[] = []
  const waits: number[] = []
  const pulls = await openRegistryPulls(folder.path, {
    deployer: {
      async fromRegistry(of: Owner, from, naming, { isUrgent, continuedMs, around = (work) => work() }) {
        const asked = { of, from, naming, ...(isUrgent && { isUrgent }) }
        const attempt = { asked, continuedMs, ...Promise.withResolvers<ImageRecord>() }
        return around(() => {
          attempts.push(attempt)
          return attempt.promise
        })
      },
    },
    clock: { now: () => now },
    accountId: () => account,
    registries: {
      authFile: '',
      outbound: directNetwork,
      waiting: { wait: async (ms) => void waits.push(ms), random: () => 1, now: () => 0 },
    },
    ...(pullMs !== undefined && { pullMs }),
  })
  return { pulls, attempts, waits, asked: () => attempts.map((each) => each.asked) }
}

it('a pull continues as it was requested, once, and a deployment of the same image joins it', async () => {
  await interrupt('web')
  const { pulls, attempts, asked } = await open()
  pulls.continueAll()
  pulls.continueAll()
  const same = { of: owner, from: source, naming: { given: 'web' } }
  await expect.poll(asked).toEqual([same])
  expect(attempts[0]!.continuedMs).toBe(86_400_000)
  const joined = pulls.pull(owner, source, { name: 'web' })
  attempts[0]!.resolve(image('continued'))
  expect(await joined).toEqual(image('continued'))
  await expect.poll(names).toEqual([])
  const next = pulls.pull(owner, source, { name: 'web' })
  await expect.poll(asked).toEqual([same, same])
  expect(attempts[1]!.continuedMs).toBeUndefined()
  attempts[1]!.resolve(image('new'))
  expect(await next).toEqual(image('new'))
})

it.each<[string, Owner, string, string | undefined]>([
  ['of another project', { ...owner, client_id: 'other' }, source, 'web'],
  ['of another account', { ...owner, account_id: 'other' }, source, 'web'],
  ['of another image', owner, 'registry.example/app:2', 'web'],
  ['with another name', owner, source, 'other'],
  ['without a name', owner, source, undefined],
])('a deployment %s does not join it', async (_, of, from, given) => {
  await interrupt('web')
  const { pulls, attempts, asked } = await open()
  pulls.continueAll()
  await expect.poll(asked).toHaveLength(1)
  const other = pulls.pull(of, from, { name: given })
  await expect.poll(() => asked()[1]).toEqual({ of, from, naming: { given } })
  attempts[1]!.resolve(image('other'))
  expect(await other).toEqual(image('other'))
  attempts[0]!.resolve(image('continued'))
  await expect.poll(names).toEqual([])
})

it('a deployment is noted while it is under way, with the time of its begin', async () => {
  const { pulls, attempts } = await open()
  const pulled = pulls.pull(owner, source, { name: 'web' })
  await expect.poll(() => attempts.length).toBe(1)
  const { left } = await openInterrupted(folder.path)
  expect(left).toMatchObject([{ owner, source, name: 'web', since: now }])
  attempts[0]!.reject(new Error('the disk'))
  await expect(pulled).rejects.toThrow('the disk')
  expect(names()).toEqual([])
})

it('a deployment that wants the link at once joins no pull that waits for it', async () => {
  await interrupt('web')
  const { pulls, attempts, asked } = await open()
  pulls.continueAll()
  await expect.poll(asked).toHaveLength(1)
  const urgent = pulls.pull(owner, source, { name: 'web', now: true })
  await expect.poll(() => asked()[1]).toMatchObject({ isUrgent: true })
  attempts[1]!.resolve(image('urgent'))
  expect(await urgent).toEqual(image('urgent'))
  attempts[0]!.resolve(image('continued'))
  await expect.poll(names).toEqual([])
})

it('a pull of an account that left is forgotten, and not attempted', async () => {
  await interrupt('web')
  const { pulls, attempts } = await open({ account: 'another' })
  pulls.continueAll()
  await expect.poll(names).toEqual([])
  expect(attempts).toEqual([])
})

it.each([
  ['a day', undefined, 86_400_000],
  ['the time of the settings', 7000, 7000],
])('a pull has %s since its begin', async (_, pullMs, ms) => {
  for (const isOver of [false, true]) {
    await interrupt('web', { since: now - ms + (isOver ? 0 : 1) })
    const { pulls, attempts } = await open({ pullMs })
    pulls.continueAll()
    if (!isOver) {
      await expect.poll(() => attempts.length).toBe(1)
      attempts[0]!.resolve(image('continued'))
    }
    await expect.poll(names).toEqual([])
    expect(attempts.map(({ continuedMs }) => continuedMs)).toEqual(isOver ? [] : [1])
  }
})

it('a pull that fails because a registry is away is tried again, after the wait of the settings', async () => {
  await interrupt(undefined)
  const { pulls, attempts, waits } = await open()
  pulls.continueAll()
  await expect.poll(() => attempts.length).toBe(1)
  attempts[0]!.reject(new RpcError('registry_unavailable', 'away'))
  await expect.poll(() => attempts.length).toBe(2)
  expect(waits).toEqual([10_000])
  attempts[1]!.resolve(image('continued'))
  await expect.poll(names).toEqual([])
})
