/**
 * An app: a group of containers, deployed, redeployed and removed as one. A plan describes it completely; the command line makes
 * it from a Compose file, and `appPlan` checks one that another program sent.
 */
import * as z from 'zod'
import { secretNamePattern } from '../mcm/settings/secrets.ts'
import { configModePattern, containerSettings, maxConfigId } from '../mcm/settings.ts'
import { configContent, hasConfigBytes } from './config-content.ts'

/** Most that one app has. */
export const appPlanLimits = {
  services: 64,
  networks: 16,
  volumes: 64,
  secrets: 64,
  configs: 64,
  /** Of one service. */
  mounts: 64,
  aliases: 16,
  /** Of one config, in bytes of the file. */
  configBytes: 128 * 1024,
  /** Of all configs, in bytes of the files. */
  allConfigBytes: 192 * 1024,
  /** Of the files that one service gets: a config counts once for each path. */
  serviceConfigBytes: 1024 * 1024,
  /** Members of `env` of one service, and characters of all of them together; as for a single container. */
  envMembers: 200,
  envCharacters: 32_768,
  /** Of the whole plan as JSON, in bytes of UTF-8. */
  planBytes: 240 * 1024,
  /** Of the names, networks, dependencies and volumes of all services, as JSON: the runtime stores them with the app. */
  recordCharacters: 60_000,
} as const

/** Name of an app: the first part of the names of its containers, `<app>-<service>`. */
export const appNamePattern = /^[a-z0-9](?:[a-z0-9-]{0,28}[a-z0-9])?$/
/** Name of a service, and its host name on the networks of its app. */
export const appServicePattern = /^[a-z0-9](?:[a-z0-9_-]{0,30}[a-z0-9])?$/
/** Names of networks, volumes and configs. */
export const appPartPattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/
const aliasPattern = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/
const targetPattern = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~+-]+)+$/

const service = z.string().regex(appServicePattern)
const part = z.string().regex(appPartPattern)
const configId = z.number().int().min(0).max(maxConfigId).default(0)
const target = z.string().max(200).regex(targetPattern)

/** What a service waits for before it starts. */
export const appConditions = ['started', 'healthy', 'completed'] as const
/** When a member that exited is started again. `no` and `on-failure`: it runs once, and has to exit with 0 before the app serves. */
export const appRestarts = ['always', 'on-failure', 'no'] as const
/** When an image is fetched: if the device does not have it, at each deployment, or never. */
export const appPulls = ['missing', 'always', 'never'] as const

const dependency = z.strictObject({
  service,
  condition: z.enum(appConditions),
  isRequired: z.boolean().describe('Whether the app needs the other service at all'),
})

const appService = z.strictObject({
  name: service,
  image: z
    .string()
    .min(1)
    .max(300)
    .describe('Reference, such as `redis:7`; or name or ID of an image of the device'),
  pull: z.enum(appPulls),
  platform: z
    .string()
    .regex(/^linux\/[a-z0-9]{1,16}(?:\/[a-z0-9]{1,8})?$/)
    .nullable()
    .describe('Of the image, such as `linux/arm64`; null: that of the device'),
  hostname: z
    .string()
    .regex(aliasPattern)
    .nullable()
    .describe('null: one that is made from the ID of the container'),
  isBehindGateway: z
    .boolean()
    .describe('Whether the gateway has a path for it: `MCM.BASE_API_PATH`, to `MCM.PORT`'),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]*$/), z.string())
    .describe(
      'Settings (`MCM.…`) and own variables, as of `deployContainer`; without those that follow from other parts of the plan, such as `MCM.VOLUMES`, `MCM.SECRETS` and `MCM.CONFIGS`',
    ),
  dependsOn: z.array(dependency).max(appPlanLimits.services),
  restart: z
    .enum(appRestarts)
    .describe(
      '`always` for a service; `no` or `on-failure` for a member that runs once: it has to exit with 0 before those after it start, and does not start again',
    ),
  maxRestarts: z.number().int().min(1).max(1000).nullable().describe('Of `on-failure`; null: 5'),
  needsInit: z.boolean().describe('Whether a small init is its first process, which ends orphans'),
  addCapabilities: z
    .array(z.string().regex(/^[A-Z_]{3,32}$/))
    .max(64)
    .describe('What stays of the profile if `dropCapabilities` has `ALL`: names without `CAP_`'),
  dropCapabilities: z
    .array(z.string().regex(/^[A-Z_]{3,32}$/))
    .max(64)
    .describe('`ALL`, or names without `CAP_`'),
  networks: z
    .array(
      z.strictObject({
        network: part,
        aliases: z.array(z.string().regex(aliasPattern)).max(appPlanLimits.aliases),
      }),
    )
    .max(appPlanLimits.networks)
    .describe('Empty for a service on the network of the device, or on no network'),
  volumes: z
    .array(
      z.strictObject({
        volume: part.nullable().describe('null: a volume of this service alone, without a name'),
        target,
        isReadOnly: z.boolean(),
      }),
    )
    .max(appPlanLimits.mounts),
  secrets: z
    .array(
      z.strictObject({
        secret: part,
        file: z.string().regex(secretNamePattern).describe('In `/run/secrets`'),
      }),
    )
    .max(appPlanLimits.mounts),
  configs: z
    .array(
      z.strictObject({
        config: part,
        target,
        mode: z
          .string()
          .regex(configModePattern)
          .default('0444')
          .describe('Permissions in octal digits; the file is read-only in any case'),
        uid: configId.describe('User in the container that the file belongs to'),
        gid: configId.describe('Group in the container that the file belongs to'),
      }),
    )
    .max(appPlanLimits.mounts)
    .describe('Files that the service gets'),
  configFolders: z
    .array(target)
    .max(appPlanLimits.mounts)
    .optional()
    .describe(
      'Folders that have the files of `configs` below them and nothing else, in place of those of the image',
    ),
})

const appSecret = z.discriminatedUnion('from', [
  z.strictObject({ name: part, from: z.literal('project'), secret: z.string().regex(secretNamePattern) }),
  z.strictObject({ name: part, from: z.literal('file'), path: z.string().min(1).max(1024) }),
  z.strictObject({ name: part, from: z.literal('environment'), variable: z.string().min(1).max(256) }),
])

/** The whole app. A plan has no value of a secret: who deploys it sets those first, from what `from` names. */
export const appPlan = z.strictObject({
  name: z.string().regex(appNamePattern),
  services: z
    .array(appService)
    .min(1)
    .max(appPlanLimits.services)
    .describe('Each after those that it depends on'),
  networks: z
    .array(
      z.strictObject({
        name: part,
        isInternal: z
          .boolean()
          .describe(
            'Whether it has no way out: a service on such networks alone has `MCM.OUTBOUND: "none"`, unless its `env` lists what it reaches',
          ),
      }),
    )
    .max(appPlanLimits.networks),
  volumes: z.array(z.strictObject({ name: part })).max(appPlanLimits.volumes),
  secrets: z.array(appSecret).max(appPlanLimits.secrets),
  configs: z
    .array(z.strictObject({ name: part, ...configContent }).refine(hasConfigBytes))
    .max(appPlanLimits.configs),
})

export type AppPlan = z.output<typeof appPlan>
export type AppService = AppPlan['services'][number]

/**
 * Whether a value is a setting that a plan can have for a service.
 *
 * @returns what is expected instead; undefined if the value is valid
 */
export function expectedOfSetting(name: string, value: string): string | undefined {
  if (!Object.hasOwn(containerSettings, name))
    return 'a setting of this runtime: see docs/reference/containers.md'
  const { read, expected } = containerSettings[name as keyof typeof containerSettings]
  return read(value) === undefined ? expected : undefined
}
