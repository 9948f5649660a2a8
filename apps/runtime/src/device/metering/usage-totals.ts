/** Bytes that the device sent and received today and this month, by what they were for; also across restarts. */
import type { Log } from '@selvedge/service-kit/log'
import type { Usage } from '@selvedge/service-kit/network'
import { type DocumentFormat, openDocument } from '@selvedge/service-kit/store'
import * as z from 'zod'

const purposes = z.record(
  z.string().max(40),
  z.strictObject({ sentBytes: z.number().min(0), receivedBytes: z.number().min(0) }),
)
const document = z.strictObject({
  /** As `2026-11-28`, by the clock and time zone of the device. */
  day: z.string(),
  ofDay: purposes,
  ofMonth: purposes,
})

type Totals = z.infer<typeof document>
export type ByPurpose = Readonly<Record<string, Usage>>

export interface UsageTotals {
  /** Adds what was used since the last call. */
  update(): void
  today(): ByPurpose
  thisMonth(): ByPurpose
  /** Stores what was added, if it is worth a write: a megabyte, or an hour. Never rejects. @param always if it is any */
  save(always?: boolean): Promise<void>
  close(): Promise<void>
}

/** What is lost at most when the power is cut. */
const worthAWrite = { bytes: 1_000_000, ms: 3_600_000 } as const

const format: DocumentFormat<Totals> = {
  version: 1,
  initial: { day: '', ofDay: {}, ofMonth: {} },
  read: (json) => document.parse(json),
}

interface Parts {
  /** Bytes since the start of the program. */
  readonly usage: () => ByPurpose
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: Log
}

/** @param path of the document @throws StoreError when a later version of the program wrote it */
export async function openUsageTotals(path: string, { usage, now, log }: Parts): Promise<UsageTotals> {
  const store = await openDocument(path, format)
  for (const { detail } of store.notices) log.warn('the counts of used bytes are damaged', { detail })
  let totals = store.value
  let counted = usage()
  let unsavedBytes = 0
  let savedAt = now()
  let isFailing = false

  function update(): void {
    const day = dayOf(now())
    if (day !== totals.day)
      totals = { day, ofDay: {}, ofMonth: monthOf(day) === monthOf(totals.day) ? totals.ofMonth : {} }
    const current = usage()
    const more = difference(current, counted)
    counted = current
    unsavedBytes += sumOf(more)
    totals = { day, ofDay: plus(totals.ofDay, more), ofMonth: plus(totals.ofMonth, more) }
  }

  async function save(always = false): Promise<void> {
    const isWorth = always || unsavedBytes >= worthAWrite.bytes || now() - savedAt >= worthAWrite.ms
    if (!isWorth || unsavedBytes === 0) return
    const [saved, bytes] = [totals, unsavedBytes]
    unsavedBytes = 0
    savedAt = now()
    try {
      await store.update(() => saved)
      isFailing = false
    } catch (cause) {
      // Such as on a full disk. The next save has them.
      unsavedBytes += bytes
      if (!isFailing) log.warn('the counts of used bytes could not be stored', { cause })
      isFailing = true
    }
  }

  update()
  return {
    update,
    today: () => totals.ofDay,
    thisMonth: () => totals.ofMonth,
    save,
    async close() {
      await save(true)
      await store.close()
    },
  }
}

/** By the time zone of the device, as data plans count. */
function dayOf(now: number): string {
  const date = new Date(now)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

const monthOf = (day: string): string => day.slice(0, -3)

const noBytes: Usage = { sentBytes: 0, receivedBytes: 0 }

export const sumOf = (all: ByPurpose): number =>
  Object.values(all).reduce((sum, { sentBytes, receivedBytes }) => sum + sentBytes + receivedBytes, 0)

const plus = (one: ByPurpose, other: ByPurpose): Record<string, Usage> => combine(one, other, 1)
const difference = (one: ByPurpose, other: ByPurpose): Record<string, Usage> => combine(one, other, -1)

function combine(one: ByPurpose, other: ByPurpose, sign: 1 | -1): Record<string, Usage> {
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return Object.fromEntries(
    [...names].map((name) => {
      const [a, b] = [one[name] ?? noBytes, other[name] ?? noBytes]
      return [
        name,
        {
          sentBytes: a.sentBytes + sign * b.sentBytes,
          receivedBytes: a.receivedBytes + sign * b.receivedBytes,
        },
      ]
    }),
  )
}
