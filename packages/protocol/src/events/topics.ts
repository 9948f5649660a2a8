/**
 * What a client can follow instead of polling. Each topic is declared once: the access check, the types of the client and the
 * reference derive from it.
 */
import * as z from 'zod'
import { nodeRecord } from '../http/discovery.ts'
import { containerRecord, logLine } from '../mcm/records.ts'
import { deployApp } from '../methods/apps.ts'
import { getContainerLogs, getContainers } from '../methods/containers.ts'
import { getMe } from '../methods/get-me.ts'
import { getGps } from '../methods/gps.ts'
import { deployImage } from '../methods/images.ts'
import type { TokenAccess } from '../methods/method.ts'
import { getNodes } from '../methods/nodes.ts'
import { isoTime } from '../methods/values.ts'

export interface Topic<Data extends z.ZodType = z.ZodType> {
  readonly summary: string
  /** Who may follow it. All topics need a token of the associated account: a stream ends when the node changes its account. */
  readonly access: TokenAccess & { readonly token: 'associated' }
  /** Of one event. */
  readonly data: Data
}

const topic = <Data extends z.ZodType>(declaration: Topic<Data>): Topic<Data> => declaration

const ofAccount = { caller: 'token', token: 'associated' } as const

const remoteState = z.object({
  reachable: z.boolean().nullable().describe('null before the first attempt'),
  since: z.iso.datetime().nullable().describe('When it got into this state'),
  lastError: z.string().optional().describe('Why the last attempt failed'),
})

export const containerStatus = containerRecord.pick({
  id: true,
  name: true,
  image: true,
  kind: true,
  state: true,
  health: true,
  reason: true,
  restarts: true,
  startedAt: true,
})

export type ContainerStatus = z.infer<typeof containerStatus>

export const neighbour = nodeRecord.pick({
  nodeId: true,
  name: true,
  state: true,
  addresses: true,
  services: true,
})

/** Maximum images that one project downloads at the same time. */
export const maxPulls = 8
/** Maximum characters of the reason for which a download waits. */
export const maxWaitingReason = 300

const pull = z.object({
  source: z.string().describe('Reference of the image, as deployImage received it'),
  receivedBytes: z.number().int(),
  totalBytes: z
    .number()
    .int()
    .nullable()
    .describe('Without layers that are on the device already; null until the manifest has arrived'),
  bytesPerSecond: z
    .number()
    .int()
    .optional()
    .describe('Of the last ten seconds or so; present from the second second on'),
  interruptions: z
    .number()
    .int()
    .optional()
    .describe(
      'Requests that failed and were repeated, such as cut connections; present from the first one on',
    ),
  waiting: z
    .object({
      seconds: z.number().int().describe('Until the next request, at the time of the event'),
      reason: z.string().max(maxWaitingReason).describe('Why the last request failed'),
    })
    .optional()
    .describe('Present while nothing is requested until a time is over'),
})

/** Maximum deployments of apps that one project sees: those under way, and the newest of the others. */
export const maxAppDeployments = 16

/** What a member of an app does while the app is deployed. */
export const memberStates = [
  'waiting',
  'pulling',
  'starting',
  'healthy',
  'completed',
  'unchanged',
  'failed',
  'stopped',
] as const

const appDeployment = z.object({
  app: z.string().describe('Name of the app'),
  deployment: z.string().describe('ID that the caller of deployApp gave; empty without one'),
  startedAt: isoTime,
  state: z.enum(['deploying', 'deployed', 'failed']),
  why: z.string().nullable().describe('Why it failed'),
  members: z
    .array(
      z.object({
        service: z.string(),
        state: z
          .enum(memberStates)
          .describe(
            '`healthy`: it has started, and passes its health check if it has one; `unchanged`: the one before continues; `stopped`: another member failed',
          ),
        waitingFor: z
          .array(z.string())
          .describe('Services that it waits for; empty while it waits for its turn'),
        pull: pull.nullable().describe('How its image arrives, while it is pulled'),
        why: z.string().nullable().describe('Why it failed'),
      }),
    )
    .describe('In the order of their start'),
})

export const topics = {
  account: topic({
    summary: 'The associated account, and whether the identity service has confirmed it.',
    access: ofAccount,
    data: z.object({ accountId: z.string(), confirmed: z.boolean() }),
  }),
  fixes: topic({
    summary: 'The last location of the device, as getGps returns it; null before the first one.',
    access: getGps.access,
    data: getGps.result.nullable(),
  }),
  containers: topic({
    summary: 'The state of each container of the project that the token is for.',
    access: getContainers.access,
    data: z.array(containerStatus),
  }),
  pulls: topic({
    summary: 'Images that the device downloads from registries for the project, while they are under way.',
    access: deployImage.access,
    data: z.array(pull).max(maxPulls),
  }),
  apps: topic({
    summary:
      'How deployments of apps of the project proceed, with each member: first the newest of those that are complete, then those under way.',
    access: deployApp.access,
    data: z.array(appDeployment).max(maxAppDeployments),
  }),
  logs: topic({
    summary:
      'Lines that the containers of the project write, in groups. The first event has the last lines before it.',
    access: getContainerLogs.access,
    data: z.array(logLine.extend({ id: z.string().describe('ID of the container') })),
  }),
  nodes: topic({
    summary: 'Nodes of the account, and nodes that announce themselves on the local network.',
    access: getNodes.access,
    data: z.object({
      account: z
        .array(neighbour)
        .nullable()
        .describe(
          'The first page of getNodes, every 30 seconds; null if the discovery service does not answer',
        ),
      linkLocal: z.array(neighbour),
    }),
  }),
  connectivity: topic({
    summary: 'Whether the identity service and the discovery service answer.',
    access: ofAccount,
    data: z.object({ identity: remoteState, discovery: remoteState }),
  }),
  clock: topic({
    summary: 'Whether the clock is confirmed by the identity service, plausible, or known to be wrong.',
    access: ofAccount,
    data: z.object({ state: getMe.result.shape.time.shape.state }),
  }),
  notices: topic({
    summary: 'Conditions that need the attention of a person.',
    access: ofAccount,
    data: getMe.result.shape.notices,
  }),
} as const satisfies Readonly<Record<string, Topic>>

export type Topics = typeof topics
export type TopicName = keyof Topics
/** A tuple, for schemas. */
export const topicNames = Object.keys(topics) as [TopicName, ...TopicName[]]

/** The data of an event of a topic. */
export type TopicData<Name extends TopicName> = z.output<Topics[Name]['data']>

/** One event: the data of its topic, and how many events of the topic before it the reader was too slow for. */
export type RuntimeEvent = {
  readonly [Name in TopicName]: {
    readonly topic: Name
    readonly data: TopicData<Name>
    readonly lost?: number
  }
}[TopicName]

/** Why a stream ends: a reason of the error catalogue, or that the runtime stops. */
export interface StreamEnd {
  readonly reason: string
  readonly detail: string
}

/** A valid list of topics, for error messages. */
export const expectedTopics = `one or more of ${topicNames.join(', ')}, each once`

export const topicList = z
  .array(z.enum(topicNames))
  .min(1)
  .max(topicNames.length)
  .refine((list) => new Set(list).size === list.length)

/** Maximum streams of one caller (account, client and subject of the token), and of all callers together. */
export const streamLimits = { ofCaller: 32, all: 1000 } as const

/** The name of the notifications over WebSocket. */
export const eventNotification = 'event'
