/** What the device uses of its link, and what it may use: one place for all parts that send without being asked. */
import { join } from 'node:path'
import type { Methods, ResultOf } from '@selvedge/protocol'
import type { Log } from '@selvedge/service-kit/log'
import type { Network } from '@selvedge/service-kit/network'
import { safely } from '@selvedge/service-kit/safely'
import { type AllowanceSettings, isScarce, type Refusal, refusalOf } from './allowance.ts'
import { type LinkProbes, type LinkState, type MeteredSetting, readLinkState } from './metered-link.ts'
import { systemProbes } from './system-probes.ts'
import { openUsageTotals, sumOf } from './usage-totals.ts'

export interface Metering {
  /** The same answer for a second: any program of the device may ask. */
  described(): ResultOf<Methods['getNetworkUse']>
  /** Why no image may be downloaded now, unless the caller wants it at once; undefined: it may. */
  refusal(): Refusal | undefined
  /** Whether reports that may be coarser should be. */
  isScarce(): boolean
  /** Resolves when the answers above may have changed: within `lookMs`. */
  changed(): Promise<void>
  start(): void
  close(): Promise<void>
}

interface Parts {
  readonly network: Pick<Network, 'usage'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: Log
  readonly probes?: LinkProbes
  readonly lookMs?: number
}

/** Milliseconds between two checks of the link and the counts. */
const usualLookMs = 30_000

const unknownLink: LinkState = { isMetered: true, reason: 'it is not known yet' }

/** Milliseconds for which a description counts. */
const describedMs = 1000

/** @param folder of the state of the runtime */
export async function openMetering(
  folder: string,
  setting: MeteredSetting,
  settings: AllowanceSettings,
  { network, now, log, probes = systemProbes, lookMs = usualLookMs }: Parts,
): Promise<Metering> {
  const totals = await openUsageTotals(join(folder, 'usage'), { usage: network.usage, now, log })
  // Downloads wait for the first look, which is at the start.
  let link: LinkState = unknownLink
  let timer: NodeJS.Timeout | undefined
  let change = Promise.withResolvers<void>()

  async function look(): Promise<void> {
    const before = link
    link = await readLinkState(setting, probes)
    if (before !== unknownLink && link.isMetered !== before.isMetered)
      log.info('the link has changed', { metered: link.isMetered, why: link.reason })
    totals.update()
    change.resolve()
    change = Promise.withResolvers()
    await totals.save()
  }
  const state = () => {
    totals.update()
    return { link, today: sumOf(totals.today()), thisMonth: sumOf(totals.thisMonth()), now: now() }
  }

  function describe(): ResultOf<Methods['getNetworkUse']> {
    const refusal = refusalOf(settings, state())
    return {
      metered: link.isMetered,
      meteredReason: link.reason,
      today: totals.today(),
      thisMonth: totals.thisMonth(),
      dayBudget: settings.dayBytes,
      monthBudget: settings.monthBytes,
      ...(refusal && { downloadsWait: refusal.reason }),
    }
  }
  let shown: { readonly at: number; readonly value: ReturnType<typeof describe> } | undefined

  return {
    described() {
      const time = now()
      if (!shown || Math.abs(time - shown.at) >= describedMs) shown = { at: time, value: describe() }
      return shown.value
    },
    refusal: () => refusalOf(settings, state()),
    isScarce: () => isScarce(settings, state()),
    changed: () => change.promise,
    start() {
      const lookNow = safely('metering.look', look)
      timer = setInterval(lookNow, lookMs).unref()
      lookNow()
    },
    async close() {
      clearInterval(timer)
      await totals.close()
    },
  }
}
