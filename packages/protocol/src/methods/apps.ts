import * as z from 'zod'
import { appNamePattern, appPartPattern, appPlan, appPlanLimits } from '../apps/plan.ts'
import { appRecord } from '../apps/records.ts'
import { deployImage, expectedImageName, imageName } from './images.ts'
import { method, param } from './method.ts'
import { maxSecretBytes } from './secrets.ts'
import { edgeAccessToken } from './values.ts'

const access = { caller: 'token', token: 'associated', scope: 'edge:mcm' } as const

/** Bytes of a request with a plan at most: as many as any other call may make the runtime parse before it knows the caller. */
export const maxAppBodyBytes = 256 * 1024

/** The value of a secret that a deployment brings along. */
const appSecretValue = z.strictObject({
  name: z.string().regex(appPartPattern),
  value: z
    .string()
    .regex(/^[A-Za-z0-9+/]+={0,2}$/)
    .min(4)
    .max(Math.ceil(maxSecretBytes / 3) * 4),
})

/** An image that the runtime pulls before the app is deployed: no path of the device, and no upload. */
const appPull = z.strictObject({
  source: z
    .string()
    .max(300)
    .regex(/^(?!upload:)[A-Za-z0-9][\w./:@+-]*$/),
  name: imageName,
  now: z.boolean().optional(),
})

/** Why a start of a member fails. */
const reasons = ['not_found', 'container_failed', 'engine_unavailable', 'storage_full'] as const

/** Milliseconds: members start one after the other, each within the limits of a container. */
const deployMs = 3_600_000

export const deployApp = method({
  name: 'deployApp',
  summary: 'Runs several containers as one app, or replaces a running app with a new version.',
  description:
    'Every member is checked before the first one starts. Members that changed start in the order of the plan, each when those before it are healthy, or have completed if they run once. All of them serve from one moment on: if one fails, the former version of the app continues. Images that are not in `pulls`, and secrets without a value in the call, have to be on the device before. Values of the call are of no use to the former version, and are removed if the deployment fails. Members that are not in the plan any more are removed with their data.',
  params: [
    edgeAccessToken,
    param(
      'plan',
      appPlan,
      'a plan of an app; `selvedge compose check --json` makes one from a Compose file',
      'The whole app.',
    ),
    param(
      'secrets',
      z
        .array(appSecretValue)
        .max(appPlanLimits.secrets)
        .refine((all) => new Set(all.map(({ name }) => name)).size === all.length)
        .optional(),
      `a list of { "name": of a secret of the plan, "value": base64 of 1 to ${maxSecretBytes} bytes }, each name once`,
      'Values of secrets of the plan that come from files and variables. A secret without a value keeps the one of the release before, else it is the secret `<app>.<name>` of the project.',
    ),
    param(
      'pulls',
      z.array(appPull).max(appPlanLimits.services).optional(),
      `a list of { "source": reference to a registry, "name": ${expectedImageName} }, each with an optional "now"`,
      'Images that the runtime pulls before, as deployImage does, under the names that the services of the plan have as their images.',
    ),
    param(
      'deployment',
      z
        .string()
        .regex(/^[A-Za-z0-9-]{8,64}$/)
        .optional(),
      '8 to 64 letters, digits and -',
      'ID of the deployment, which the caller chooses at random. A call with the ID of one of the last deployments of the app joins it, and gets its result: so a caller continues after a cut connection. The topic `apps` shows it.',
    ),
  ],
  result: appRecord,
  reasons: [...new Set([...reasons, ...deployImage.reasons, 'conflict', 'busy'] as const)],
  access,
  fromServices: 'MCM.MANAGE',
  timeoutMs: deployMs,
  maxBodyBytes: maxAppBodyBytes,
})

export const getApps = method({
  name: 'getApps',
  summary: 'The apps of the project that the token is for, with their members.',
  params: [edgeAccessToken],
  result: z.array(appRecord),
  reasons: [],
  access,
  fromServices: 'yes',
})

const name = param('name', z.string().regex(appNamePattern), 'the name of an app', 'Name of the app.')

export const startApp = method({
  name: 'startApp',
  summary: 'Starts the containers of an app that do not run, in the order of their dependencies.',
  description: 'What ran once does not start again. If one fails, those that were started stop again.',
  params: [edgeAccessToken, name],
  result: appRecord,
  reasons: [...reasons, 'busy'],
  access,
  fromServices: 'MCM.MANAGE',
  timeoutMs: deployMs,
})

export const stopApp = method({
  name: 'stopApp',
  summary:
    'Stops all containers of an app, in the reverse order of their dependencies. They stay stopped when the device restarts.',
  params: [edgeAccessToken, name],
  result: appRecord,
  reasons: ['not_found', 'storage_full', 'busy'],
  access,
  fromServices: 'MCM.MANAGE',
  timeoutMs: deployMs,
})

export const redeployApp = method({
  name: 'redeployApp',
  summary:
    'Starts all containers of an app again, with the settings that they have and the present images with the names in its plan.',
  description:
    'As deployApp with the same plan, but each member starts again: the next release replaces the present one when all of it is healthy. What ran once runs again only if its image changed.',
  params: [edgeAccessToken, name],
  result: appRecord,
  reasons: [...reasons, 'conflict', 'busy'],
  access,
  fromServices: 'MCM.MANAGE',
  timeoutMs: deployMs,
})

export const rollbackApp = method({
  name: 'rollbackApp',
  summary: 'Deploys the release of an app that was before the present one again.',
  description:
    'Images, settings, files and secrets are those of that release; what members changed in their volumes stays. It is the last release that differs from the present one, and a second call returns to the latter. The device stores one former release of each app, while there is room for its images.',
  params: [edgeAccessToken, name],
  result: appRecord,
  reasons: [...reasons, 'conflict', 'busy'],
  access,
  fromServices: 'MCM.MANAGE',
  timeoutMs: deployMs,
})

export const removeApp = method({
  name: 'removeApp',
  summary:
    'Removes an app: all its containers with their storage and volumes, and the secrets that were set for it alone.',
  params: [edgeAccessToken, name],
  result: z.object({ name: z.string() }),
  reasons: ['not_found', 'storage_full', 'engine_unavailable', 'busy'],
  access,
  fromServices: 'MCM.MANAGE',
  timeoutMs: 3_600_000,
})
