/** What the API shows of the times at which a function is called. */
import * as z from 'zod'
import { isoTime } from '../methods/values.ts'

/** How a run that began is over. */
const results = ['succeeded', 'failed', 'timed_out'] as const

export const runOutcome = z.object({
  outcome: z.enum(results).describe('`timed_out`: it passed `MCM.MAX_EXECUTION_TIME_SEC`'),
  detail: z.string().nullable().describe('Why it did not succeed'),
})

export type RunOutcome = z.infer<typeof runOutcome>

export const scheduleRecord = z.object({
  nextAt: isoTime.nullable().describe('When the next event is due; null while the container is not to run'),
  last: z
    .object({
      cron: z.string().describe('The expression that was due'),
      scheduledAt: isoTime.describe('When it was due'),
      outcome: z
        .enum([...results, 'skipped'])
        .describe(
          '`timed_out`: it passed `MCM.MAX_EXECUTION_TIME_SEC`. `skipped`: the run before it was still under way, or it was missed',
        ),
      detail: z.string().nullable().describe('Why it did not succeed'),
    })
    .nullable()
    .describe('The last run since the runtime started, or the last time without one; null before'),
})

export type ScheduleRecord = z.infer<typeof scheduleRecord>
