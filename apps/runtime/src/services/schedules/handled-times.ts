/**
 * Up to when the times of `MCM.CRON` are handled, by container. In a document of its own: the format of the deployments stays one that the
 * release before reads, which leaves this document alone.
 */
import { join } from 'node:path'
import { type DocumentStore, openDocument } from '@selvedge/service-kit/store'
import * as z from 'zod'

const handledTimes = z.strictObject({
  /** `MCM.CRON` and `MCM.CRON_TZ`, for which the time counts: others count from when they were deployed. */
  cron: z.string(),
  zone: z.string(),
  /** Unix milliseconds. No time at or before it is run. */
  until: z.number(),
})

export type HandledTimes = Readonly<Record<string, z.infer<typeof handledTimes>>>
export type HandledTimesStore = DocumentStore<HandledTimes>

/** @throws StoreError */
export const openHandledTimes = (folder: string): Promise<HandledTimesStore> =>
  openDocument<HandledTimes>(join(folder, 'schedules'), {
    version: 1,
    initial: {},
    read: (json) => z.record(z.string(), handledTimes).parse(json),
  })

/** Milliseconds by which the clock may be set back without a time being run again. */
const setBackMs = 3_600_000

/**
 * Up to when the times of a container are handled, by a clock that may have been set. A time that is far ahead is of a clock that was
 * wrong: then times count from now.
 */
export const handledUntil = (until: number, now: number): number => (until - now > setBackMs ? now : until)

export function withUntil(value: HandledTimes, key: string, until: number): HandledTimes {
  const { [key]: one } = value
  return one ? { ...value, [key]: { ...one, until } } : value
}
