import * as z from 'zod'
import { isCron } from '../mcm/cron.ts'
import { portRecord } from '../mcm/ports.ts'
import { containerRecord, historyEntry, logLine } from '../mcm/records.ts'
import { runOutcome } from '../mcm/schedule.ts'
import { settingSchemas } from '../mcm/settings/json-schema.ts'
import { method, param } from './method.ts'
import { edgeAccessToken } from './values.ts'

const access = { caller: 'token', token: 'associated', scope: 'edge:mcm' } as const
const id = param(
  'id',
  z.string().min(1).max(400),
  'a container id',
  'Id of the container, `<clientId>-<name>`; or its name.',
)

/** Maximum number of members of `env`, and of characters of all of them together. */
const maxEnv = { members: 200, characters: 32_768 }

export const containerSpec = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,62}$/i),
  image: z.string().min(1).max(300),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]*$/), z.string())
    .refine((env) => {
      const entries = Object.entries(env)
      const size = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
      return entries.length <= maxEnv.members && size <= maxEnv.characters
    })
    .meta({
      description: 'Settings of the runtime (`MCM.…`), and variables of the service under other names',
      properties: settingSchemas(),
    })
    .default({}),
})

export type ContainerSpec = z.output<typeof containerSpec>

/** What a valid spec looks like, for error messages. */
export const expectedSpec = `{ "name": 1 to 63 letters, digits and . _ -; "image": name or id of a deployed image; "env": object of strings, at most ${maxEnv.members} members and ${maxEnv.characters} characters }`

/** Reasons with which a start of a container fails. */
const reasons = ['not_found', 'container_failed', 'engine_unavailable', 'storage_full'] as const

export const deployContainer = method({
  name: 'deployContainer',
  summary: 'Runs an image as a service, or replaces a running one with a new version.',
  description:
    'The new version is started and checked before it replaces the old one. If it fails, the old one keeps running and the record has `rolled back`.',
  params: [edgeAccessToken, param('spec', containerSpec, expectedSpec, 'What to run, and how.')],
  result: containerRecord,
  reasons: [...reasons, 'conflict', 'busy'],
  access,
  fromServices: 'MCM.MANAGE',
  timeoutMs: 960_000,
  // Every character of `env` may be written as an escape of six.
  maxBodyBytes: 256 * 1024,
})

export const getContainers = method({
  name: 'getContainers',
  summary: 'The containers of the project that the token is for.',
  params: [edgeAccessToken],
  result: z.array(containerRecord),
  reasons: [],
  access,
  fromServices: 'yes',
})

export const startContainer = method({
  name: 'startContainer',
  summary: 'Starts a container that was stopped or has failed.',
  params: [edgeAccessToken, id],
  result: containerRecord,
  reasons: [...reasons, 'conflict', 'busy'],
  access,
  fromServices: 'MCM.MANAGE',
  timeoutMs: 660_000,
})

export const stopContainer = method({
  name: 'stopContainer',
  summary: 'Stops a container. It stays stopped when the device restarts.',
  params: [edgeAccessToken, id],
  result: containerRecord,
  reasons: ['not_found', 'storage_full', 'busy'],
  access,
  fromServices: 'MCM.MANAGE',
  timeoutMs: 360_000,
})

export const redeployContainer = method({
  name: 'redeployContainer',
  summary:
    'Deploys a container again, with the settings that it has and the present image with the name of its own.',
  description:
    'As deployContainer with the same spec, but it starts again also if nothing has changed: the next revision replaces the present one when it is healthy. A container that was stopped runs afterwards.',
  params: [edgeAccessToken, id],
  result: containerRecord,
  reasons: [...reasons, 'conflict', 'busy'],
  access,
  fromServices: 'MCM.MANAGE',
  timeoutMs: 960_000,
})

export const removeContainer = method({
  name: 'removeContainer',
  summary: 'Removes a container with its storage and its volumes.',
  params: [edgeAccessToken, id],
  result: z.object({ id: z.string() }),
  reasons: ['not_found', 'storage_full', 'engine_unavailable', 'busy'],
  access,
  fromServices: 'MCM.MANAGE',
  timeoutMs: 360_000,
})

export const runScheduled = method({
  name: 'runScheduled',
  summary:
    'Calls a function or an OCI container as at a time of `MCM.CRON`, now, and waits until that is complete.',
  description:
    'For tests, and for what should not wait for its next time. The times of `MCM.CRON` stay as they are. One run of a container is under way at a time.',
  params: [
    edgeAccessToken,
    id,
    param(
      'cron',
      z.string().max(200).refine(isCron).optional(),
      'a cron expression with five fields',
      '`event.cron`, or the header `X-Selvedge-Scheduled`. Default: the first expression of `MCM.CRON`, else `* * * * *`.',
    ),
  ],
  result: runOutcome,
  reasons: ['not_found', 'busy'],
  access,
  timeoutMs: 4_300_000,
})

export const getContainerLogs = method({
  name: 'getContainerLogs',
  summary: 'The last lines that a container wrote.',
  description: 'Lines are stored in memory only, to reduce flash wear. They are lost when the runtime ends.',
  params: [
    edgeAccessToken,
    id,
    param(
      'tail',
      z
        .union([
          z.number().int(),
          z
            .string()
            .regex(/^\d{1,5}$/)
            .transform(Number),
        ])
        .pipe(z.number().min(1).max(10_000)),
      'a whole number from 1 to 10000',
      'Maximum number of lines.',
    ),
  ],
  result: z.object({ lines: z.array(logLine) }),
  reasons: ['not_found'],
  access,
  fromServices: 'yes',
})

export const getContainerHistory = method({
  name: 'getContainerHistory',
  summary: 'What happened to a container, when, who caused it, and which rule. Also for a removed container.',
  params: [edgeAccessToken, id],
  result: z.object({ history: z.array(historyEntry) }),
  reasons: ['not_found'],
  access,
  fromServices: 'yes',
})

const engineReport = z.object({
  available: z.boolean(),
  version: z.string().optional().describe('Program and version, where it states one'),
  detail: z.string().describe('Where it is installed, or why it is unavailable'),
  isolation: z.array(z.string()).describe('The layers of isolation that are active'),
  hints: z.array(z.string()).describe('How to improve the isolation'),
})

export const getEngines = method({
  name: 'getEngines',
  summary:
    'Which engines can run images on this device, which layers of isolation are active, and which ports lead to containers.',
  params: [],
  result: z.object({
    function: engineReport,
    oci: engineReport,
    ports: z
      .array(portRecord)
      .optional()
      .describe('Ports of the device that lead to its containers (`MCM.PORTS`), by number'),
  }),
  reasons: [],
  access: { caller: 'anyone' },
})
