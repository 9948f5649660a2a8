/** Images and containers as the API returns them. */
import * as z from 'zod'
import { isoTime } from '../methods/values.ts'
import { portRecord } from './ports.ts'
import { scheduleRecord } from './schedule.ts'
import { containerStates, describeState } from './states.ts'

export const imageRecord = z.object({
  id: z.string().describe('`<clientId>-<name>`'),
  clientId: z.string().describe('Project that deployed it'),
  name: z.string(),
  repoTags: z.array(z.string()),
  digest: z.string().describe('Digest of the image configuration: the image ID of Docker and Podman'),
  kind: z.enum(['function', 'oci']).describe('Which engine runs it'),
  size: z.number().int().describe('Size on the disk in bytes'),
  created: z.number().int().describe('When it was deployed, Unix seconds'),
  containers: z.number().int().describe('How many containers use it'),
})

export type ImageRecord = z.infer<typeof imageRecord>

const completion = z.object({
  exitCode: z.number().int(),
  at: isoTime,
})

export const containerRecord = z.object({
  id: z.string().describe('`<clientId>-<name>`'),
  clientId: z.string().describe('Project that deployed it'),
  name: z.string(),
  image: z.string().describe('Name of its image'),
  imageId: z.string(),
  env: z.record(z.string(), z.string()),
  created: z.number().int().describe('When it was deployed for the first time, Unix milliseconds'),
  state: z
    .enum(containerStates)
    .describe(containerStates.map((state) => `\`${state}\`: ${describeState(state).meaning}`).join('. ')),
  kind: z.enum(['function', 'oci']),
  basePath: z.string().describe('Path on the listener of the runtime'),
  health: z
    .enum(['healthy', 'unhealthy', 'unknown'])
    .describe('`unknown` where there is no health path, or it does not run'),
  reason: z.string().nullable().describe('Why it is in this state, or the result of the last deployment'),
  completed: completion
    .optional()
    .describe('How a member of an app that runs once has completed; absent for every other container'),
  restarts: z.number().int().describe('How often it was restarted after it exited by itself'),
  startedAt: isoTime.nullable(),
  memory: z.number().int().nullable().describe('Bytes; null if it is not running'),
  isolation: z
    .array(z.string())
    .describe('Layers of isolation that are active; empty before the first start'),
  ports: z
    .array(portRecord)
    .optional()
    .describe('Ports of the device that lead to it (`MCM.PORTS`); absent without such ports'),
  schedule: scheduleRecord
    .optional()
    .describe('When it gets the event `scheduled` (`MCM.CRON`); absent without such times'),
})

export type ContainerRecord = z.infer<typeof containerRecord>

export const logLine = z.object({
  time: isoTime,
  stream: z
    .enum(['stdout', 'stderr', 'runtime'])
    .describe('`runtime`: a message of the runtime about the container'),
  text: z.string(),
})

export type LogLine = z.infer<typeof logLine>

export const historyEntry = z.object({
  time: isoTime,
  event: z.string().describe('What happened, such as `deployed`, `restarted`, `rolled back`, `killed`'),
  rule: z.string().describe('The rule that caused it'),
  by: z
    .object({ accountId: z.string(), clientId: z.string() })
    .nullable()
    .describe('Account and client of the token that asked for it; null if the runtime did it by itself'),
  detail: z.string(),
})

export type HistoryEntry = z.infer<typeof historyEntry>
