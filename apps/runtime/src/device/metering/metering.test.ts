import { join } from 'node:path'
import { createLog } from '@selvedge/service-kit/log'
import type { Usage } from '@selvedge/service-kit/network'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { type Metering, openMetering } from './metering.ts'
import { openUsageTotals } from './usage-totals.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let used: Record<string, Usage>
let time: number
let kind: string | undefined
let opened: Metering[]
beforeEach(async () => {
  folder = await temporaryFolder()
  used = {}
  time = new Date(2026, 10, 28, 12).getTime()
  kind = 'wlan'
  opened = []
})
afterEach(async () => {
  for (const each of opened) await each.close()
  await folder.remove()
})

const use = (name: string, sentBytes: number, receivedBytes: number) => {
  const before = used[name] ?? { sentBytes: 0, receivedBytes: 0 }
  used = {
    ...used,
    [name]: {
      sentBytes: before.sentBytes + sentBytes,
      receivedBytes: before.receivedBytes + receivedBytes,
    },
  }
}

async function start(setting: 'auto' | 'yes' | 'no' = 'no', settings: object = {}): Promise<Metering> {
  used = {}
  const metering = await openMetering(
    join(folder.path),
    setting,
    { dayBytes: 0, monthBytes: 0, windows: [], ...settings },
    {
      network: { usage: () => used },
      now: () => time,
      log: createLog({ service: 'test', level: 'error', now: () => 0 }, () => undefined),
      probes: {
        networkManager: async () => undefined,
        defaultInterface: () => 'if0',
        kindOf: () => kind,
      },
      lookMs: 5,
    },
  )
  opened.push(metering)
  metering.start()
  await metering.changed()
  return metering
}

const restart = async (...args: Parameters<typeof start>): Promise<Metering> => {
  await opened.pop()!.close()
  return start(...args)
}

it('bytes are added by purpose, for the day and the month, also across restarts', async () => {
  let metering = await start()
  use('images', 1, 100)
  use('identity', 10, 20)
  time += 1000
  expect(metering.described()).toMatchObject({
    metered: false,
    meteredReason: 'network.metered is "no"',
    today: { images: { sentBytes: 1, receivedBytes: 100 }, identity: { sentBytes: 10, receivedBytes: 20 } },
  })
  metering = await restart()
  use('images', 1, 1)
  time += 1000
  const images = { sentBytes: 2, receivedBytes: 101 }
  expect(metering.described()).toMatchObject({ today: { images }, thisMonth: { images } })
})

it('a new day begins at zero, and a new month, too, whatever runs across midnight', async () => {
  const metering = await start()
  use('images', 0, 100)
  time += 1000
  metering.described()
  time += 86_400_000
  expect(metering.described()).toMatchObject({
    today: {},
    thisMonth: { images: { sentBytes: 0, receivedBytes: 100 } },
  })
  use('images', 0, 5)
  time += 2000
  expect(metering.described().today).toEqual({ images: { sentBytes: 0, receivedBytes: 5 } })
  time += 5 * 86_400_000
  expect(metering.described()).toMatchObject({ today: {}, thisMonth: {} })
})

it('a description is the same for a second', async () => {
  const metering = await start()
  const first = metering.described()
  use('images', 0, 5)
  expect(metering.described()).toBe(first)
  time += 1000
  expect(metering.described()).not.toBe(first)
})

it('downloads wait while the link is metered or the budget is used, and it is looked at again', async () => {
  const metering = await start('auto', { dayBytes: 100 })
  expect(metering.refusal()).toBeUndefined()
  expect(metering.isScarce()).toBe(false)
  kind = 'wwan'
  await expect.poll(() => metering.refusal()?.kind).toBe('metered')
  expect(metering.isScarce()).toBe(true)
  kind = 'wlan'
  await expect.poll(() => metering.refusal()).toBeUndefined()
  use('images', 0, 100)
  expect(metering.refusal()?.kind).toBe('day')
  time += 2000
  expect(metering.described().downloadsWait).toContain('network.dayBudget')
})

it('counts that cannot be stored fail nothing, and that is in the log once', async () => {
  const lines: string[] = []
  const log = createLog({ service: 'test', level: 'warn', now: () => 0 }, (line) => lines.push(line))
  const totals = await openUsageTotals(join(folder.path, 'other'), {
    usage: () => used,
    now: () => time,
    log,
  })
  // Its files are closed, so that no write succeeds.
  await totals.close()
  for (let times = 0; times < 3; times++) {
    use('images', 0, 2_000_000)
    totals.update()
    await totals.save()
  }
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('the counts of used bytes could not be stored')
  expect(totals.today()).toEqual({ images: { sentBytes: 0, receivedBytes: 6_000_000 } })
})

it('before the first look downloads wait', async () => {
  const metering = await openMetering(
    folder.path,
    'auto',
    { dayBytes: 0, monthBytes: 0, windows: [] },
    {
      network: { usage: () => ({}) },
      now: () => time,
      log: createLog({ service: 'test', level: 'error', now: () => 0 }, () => undefined),
      probes: {
        networkManager: async () => 2,
        defaultInterface: () => undefined,
        kindOf: () => undefined,
      },
    },
  )
  opened.push(metering)
  expect(metering.refusal()?.reason).toContain('it is not known yet')
  metering.start()
  await metering.changed()
  expect(metering.refusal()).toBeUndefined()
})
