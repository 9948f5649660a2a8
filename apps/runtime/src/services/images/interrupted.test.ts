import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { continuePull, timeLeftOf } from './continue-pull.ts'
import { openInterrupted } from './interrupted.ts'
import { UnexpectedStatus } from './registry/status.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(() => folder.remove())
const place = () => join(folder.path, 'pulls')
const names = () => readdirSync(place())
const open = () => openInterrupted(place())
const pull = {
  owner: { account_id: 'a', client_id: 'c' },
  source: 'registry.example/app:1',
  name: 'app',
  isUrgent: true,
  since: 1000,
}

/** Notes a pull that never ends, as one of a runtime that was killed. */
async function interrupt(
  each: Omit<typeof pull, 'name'> & { name: string | undefined } = pull,
): Promise<string> {
  const { during } = await open()
  const begun = Promise.withResolvers<void>()
  void during(each, () => {
    begun.resolve()
    return new Promise(() => undefined)
  })
  await begun.promise
  return join(place(), names()[0]!)
}

it('a pull that was under way is known to the next run, until it is forgotten', async () => {
  await interrupt({ ...pull, name: undefined })
  await interrupt()
  const { left } = await open()
  expect(left.map(({ forget: _, ...each }) => each).sort((a) => (a.name === undefined ? -1 : 1))).toEqual([
    { ...pull, name: undefined },
    pull,
  ])
  for (const each of left) await each.forget()
  expect((await open()).left).toEqual([])
})

it('a pull that is complete or failed leaves nothing, and its outcome is that of its work', async () => {
  const { during } = await open()
  expect(await during(pull, async () => names().length)).toBe(1)
  expect(names()).toEqual([])
  await expect(during(pull, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  expect(names()).toEqual([])
})

it('a note of an earlier version is of a pull that waits for the link', async () => {
  const { isUrgent: _, ...earlier } = pull
  const { owner, ...rest } = earlier
  const text = JSON.stringify({ accountId: owner.account_id, clientId: owner.client_id, ...rest })
  mkdirSync(place())
  writeFileSync(join(place(), hash('sha256', text, 'hex')), text)
  expect((await open()).left).toMatchObject([{ ...earlier, isUrgent: false }])
})

it('a pull works without a note if there is no room for one', async () => {
  const { during } = await open()
  writeFileSync(place(), 'no folder can be made here')
  expect(await during(pull, async () => 'done')).toBe('done')
})

describe('a note is removed, and its pull not continued, if it is', () => {
  it.each<[string, (path: string) => void]>([
    ['changed', (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('app:1', 'app:3'))],
    ['cut short', (path) => writeFileSync(path, readFileSync(path, 'utf8').slice(0, 50))],
    ['empty', (path) => writeFileSync(path, '')],
    ['large', (path) => writeFileSync(path, ' '.repeat(20_000))],
    [
      'a link',
      (path) => {
        writeFileSync(join(folder.path, 'victim'), readFileSync(path))
        rmSync(path)
        symlinkSync(join(folder.path, 'victim'), path)
      },
    ],
    [
      'a folder',
      (path) => {
        rmSync(path)
        mkdirSync(join(path, 'x'), { recursive: true })
      },
    ],
    [
      'a pipe',
      (path) => {
        rmSync(path)
        execFileSync('mkfifo', [path])
      },
    ],
  ])('%s', async (_, change) => {
    change(await interrupt())
    expect((await open()).left).toEqual([])
    expect(names()).toEqual([])
  })
})

it.each([
  ['of 16 KiB is read', 16_384, 1],
  ['of one byte more is removed', 16_385, 0],
])('a note %s', async (_, bytes, count) => {
  const text = readFileSync(await interrupt(), 'utf8').padEnd(bytes)
  rmSync(join(place(), names()[0]!))
  writeFileSync(join(place(), hash('sha256', text, 'hex')), text)
  expect((await open()).left).toHaveLength(count)
  expect(names()).toHaveLength(count)
})

it('a pull may be forgotten twice', async () => {
  await interrupt()
  const [only] = (await open()).left
  await only!.forget()
  await expect(only!.forget()).resolves.toBeUndefined()
})

it('at most 64 are continued, and the others removed', async () => {
  const { during } = await open()
  const begun: Promise<void>[] = []
  for (let at = 0; at < 70; at++)
    begun.push(
      new Promise((resolve) => {
        const work = () => {
          resolve()
          return new Promise(() => undefined)
        }
        void during({ ...pull, source: `registry.example/app:${at}` }, work)
      }),
    )
  await Promise.all(begun)
  expect((await open()).left).toHaveLength(64)
  expect(names()).toHaveLength(64)
})

describe('a pull that continues', () => {
  const failing = (reason: 'registry_unavailable' | 'busy' | 'not_found') => new RpcError(reason, 'failed')

  /** Continues a pull with attempts that fail in this way, and succeed then. */
  async function run(failures: Error[], { accounts = [true], now = 2000, since = 1000, jumpMs = 0 } = {}) {
    let clock = now
    let attempts = 0
    let forgotten = 0
    const waits: number[] = []
    await continuePull(
      { ...pull, since, forget: async () => void forgotten++ },
      {
        attempt: async () => {
          const failure = failures[attempts++]
          if (failure) throw failure
        },
        isWanted: () => accounts[Math.min(attempts, accounts.length - 1)]!,
        leftMs: timeLeftOf({ since }, () => clock, 3_600_000),
        waiting: {
          wait: async (ms) => {
            waits.push(ms / 1000)
            clock += waits.length === 1 ? ms + jumpMs : ms
          },
          random: () => 1,
        },
      },
    )
    return { attempts, forgotten, waits }
  }

  it('is forgotten when it is complete', async () => {
    expect(await run([])).toEqual({ attempts: 1, forgotten: 1, waits: [] })
  })

  it('waits longer after each failure that passes, up to ten minutes', async () => {
    const failures = Array.from({ length: 8 }, (_, at) => failing(at % 2 ? 'busy' : 'registry_unavailable'))
    expect(await run(failures)).toEqual({
      attempts: 9,
      forgotten: 1,
      waits: [10, 20, 40, 80, 160, 320, 600, 600],
    })
  })

  it('is given up when its time is over, after another failure, and when its account has left', async () => {
    const always = Array.from({ length: 99 }, () => failing('registry_unavailable'))
    expect((await run(always)).attempts).toBe(11)
    expect(await run(always, { now: 3_601_000 })).toMatchObject({ attempts: 0, forgotten: 1 })
    expect(await run([failing('not_found')])).toEqual({ attempts: 1, forgotten: 1, waits: [] })
    expect(await run([new Error('the disk')])).toEqual({ attempts: 1, forgotten: 1, waits: [] })
    expect(await run(always, { accounts: [true, false] })).toMatchObject({ attempts: 1, forgotten: 1 })
  })

  it('waits as long as a registry wants, and not beyond its time', async () => {
    const busy = (after: string) =>
      new RpcError('registry_unavailable', 'busy', {
        cause: new UnexpectedStatus(
          { status: 503, origin: 'https://a.example', headers: { 'retry-after': after } },
          'https://a.example',
        ),
      })
    expect((await run([busy('1800')])).waits).toEqual([1810])
    expect(await run([busy('3600')])).toEqual({ attempts: 1, forgotten: 1, waits: [] })
  })

  it('has its time from now if the clock was set back', async () => {
    expect((await run([], { now: 1000, since: 9e9 })).attempts).toBe(1)
  })

  it('has its time if the device started with a clock in the past, which is set then', async () => {
    const failures = [failing('registry_unavailable')]
    const jumped = { now: 0, since: 9e9 }
    expect((await run(failures, { ...jumped, jumpMs: 9e9 })).attempts).toBe(2)
    expect((await run(failures, { ...jumped, jumpMs: 9e9 + 3_600_000 })).attempts).toBe(1)
  })
})
