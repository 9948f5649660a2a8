/**
 * The containers of an app, from its plan, and everything in the plan that the runtime cannot do. `deployApp` and `selvedge compose
 * check` both decide by this: a plan that one accepts, the other accepts. What only a device knows (its images, what its
 * configuration allows, what else runs on it) is not decided here.
 */
import { portName } from '../mcm/ports.ts'
import { isReservedFolder } from '../mcm/settings/files.ts'
import { secretNamePattern } from '../mcm/settings/secrets.ts'
import { containerCapabilities, containerSettings } from '../mcm/settings.ts'
import type { ContainerSpec } from '../methods/containers.ts'
import { appContainerName, appSecretName, appSecretVersionDigits } from './app-secrets.ts'
import { type AppPlan, type AppService, appPlanLimits, expectedOfSetting } from './plan.ts'

/** Something that the runtime cannot do. */
export interface AppProblem {
  /** Names and indexes from the root of the plan, such as `services`, 0, `restart`. */
  readonly path: readonly (string | number)[]
  /** What is not possible, with the name of the service. */
  readonly why: string
  /** What to do instead. */
  readonly hint: string
}

/** A container of the app, and what the app stores about it. */
export interface ReadMember {
  readonly spec: ContainerSpec
  readonly networks: AppService['networks']
  readonly dependsOn: readonly string[]
  /** Names of volumes, which are data of the container. */
  readonly volumes: readonly string[]
  /** How often it is started again after a failure, if it runs once; null for a service. */
  readonly retries: number | null
}

export interface ReadPlan {
  /** In the order of the plan; of no use if there is a problem. */
  readonly members: readonly ReadMember[]
  readonly problems: readonly AppProblem[]
}

export interface PlanReaderOptions {
  /** SHA-256 of a text, in hexadecimal digits. */
  readonly sha256: (text: string) => string
  /** Platform of the device, such as `linux/arm64`; if it is undefined, every platform is accepted. */
  readonly platform: string | undefined
  /** Names under which secrets of the plan are stored, where these differ from {@link appSecretName}. */
  readonly secretNames?: ReadonlyMap<string, string>
}

type AddProblem = (path: AppProblem['path'], why: string, hint: string) => void

/** What the reading of one plan shares. */
interface Context extends PlanReaderOptions {
  readonly plan: AppPlan
  readonly add: AddProblem
  /** Services that are before the present one. */
  readonly known: Set<string>
  /** Of the services of the plan. */
  readonly restarts: ReadonlyMap<string, AppService['restart']>
  /** Service of each named volume. */
  readonly volumes: Map<string, string>
  /** Service of each path of the gateway, and of each port of the device. */
  readonly paths: Map<string, string>
  readonly ports: Map<string, string>
  /** Services on each network. */
  readonly onNetwork: ReadonlyMap<string, number>
}

/** @param plan that `appPlan` accepts */
export function readAppPlan(plan: AppPlan, options: PlanReaderOptions): ReadPlan {
  const problems: AppProblem[] = []
  const onNetwork = new Map<string, number>()
  for (const { networks } of plan.services)
    for (const network of new Set(networks.map((each) => each.network)))
      onNetwork.set(network, (onNetwork.get(network) ?? 0) + 1)
  const context: Context = {
    ...options,
    plan,
    add: (path, why, hint) => void problems.push({ path, why, hint }),
    known: new Set(),
    restarts: new Map(plan.services.map(({ name, restart }) => [name, restart])),
    volumes: new Map(),
    paths: new Map(),
    ports: new Map(),
    onNetwork,
  }
  checkUnique(context)
  checkSize(context)
  const members = plan.services.map((service, at) => {
    const member = readMember(context, service, ['services', at])
    context.known.add(service.name)
    return member
  })
  return { members, problems }
}

/** As messages of the API show it: `services[0].env["MCM.CPU"]`. */
export const planPathText = (path: AppProblem['path']): string =>
  path
    .map((each, at) => {
      if (typeof each === 'number') return `[${each}]`
      if (!/^[A-Za-z]+$/.test(each)) return `[${JSON.stringify(each)}]`
      return at === 0 ? each : `.${each}`
    })
    .join('')

function checkUnique({ plan, add }: Context): void {
  const { services, networks, volumes, secrets, configs } = plan
  for (const [kind, items] of Object.entries({ services, networks, volumes, secrets, configs })) {
    const names = new Set<string>()
    for (const [at, { name }] of items.entries()) {
      if (names.has(name))
        add([kind, at, 'name'], `${JSON.stringify(name)} is there twice`, 'Change one name.')
      names.add(name)
    }
  }
}

/** Bytes of UTF-8 that a text has in JSON. */
const jsonBytes = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).length

function checkSize({ plan, add }: Context): void {
  const bytes = jsonBytes(plan)
  if (bytes > appPlanLimits.planBytes)
    add(
      [],
      `the plan has ${bytes} bytes; the limit is ${appPlanLimits.planBytes}`,
      'Use fewer services, or shorter variables.',
    )
  const characters = JSON.stringify(
    plan.services.map(({ name, networks, dependsOn, volumes }) => [name, networks, dependsOn, volumes]),
  ).length
  if (characters > appPlanLimits.recordCharacters)
    add(
      [],
      `the names and networks of the services have ${characters} characters; the limit is ${appPlanLimits.recordCharacters}`,
      'Use fewer networks and aliases.',
    )
  if (plan.configs.length > 0 && plan.services.every(({ configs }) => configs.length === 0))
    add(['configs'], 'files of an app are not possible yet', noConfigsHint)
}

function readMember(context: Context, service: AppService, path: AppProblem['path']): ReadMember {
  checkSupported(context, service, path)
  checkOnce(context, service, path)
  checkOrder(context, service, path)
  checkNetworks(context, service, path)
  checkEnv(context, service, path)
  const parts: Record<string, string> = {
    ...joined(context, path, 'MCM.VOLUMES', volumesOf(context, service, path)),
    ...joined(context, path, 'MCM.SECRETS', secretsOf(context, service, path)),
    ...settingsOf(service),
  }
  checkTaken(context, service, path)
  return {
    spec: {
      name: appContainerName(context.plan.name, service.name),
      image: service.image,
      env: { ...(isOnce(service) && onceSettings), ...service.env, ...parts },
    },
    networks: service.networks,
    dependsOn: [...new Set(service.dependsOn.map((each) => each.service))],
    volumes: service.volumes.flatMap(({ volume }) => (volume === null ? [] : [volume])),
    retries: retriesOf(service),
  }
}

/** Whether a service runs to its end once, while the app is deployed. */
const isOnce = ({ restart }: Pick<AppService, 'restart'>): boolean => restart !== 'always'

/** Restarts of `on-failure` without a number of its own. */
const defaultRetries = 5

function retriesOf(service: Pick<AppService, 'restart' | 'maxRestarts'>): number | null {
  if (!isOnce(service)) return null
  return service.restart === 'no' ? 0 : (service.maxRestarts ?? defaultRetries)
}

/** Settings of a service that runs once, which its plan may change: it listens on no port, and has ten minutes to complete. */
const onceSettings = { 'MCM.READY': 'none', 'MCM.HEALTH_SEC': '600' } as const

/** Settings of what serves others. */
const servingSettings = ['MCM.PORTS', 'MCM.HEALTH_PATH', 'MCM.CRON'] as const

function checkOnce({ add }: Context, service: AppService, path: AppProblem['path']): void {
  if (!isOnce(service)) return
  const { name, restart, env, isBehindGateway } = service
  const why = `${name}: with the restart ${JSON.stringify(restart)} it runs once, and serves nothing`
  const hint = 'Write "always" (in a Compose file: unless-stopped) if it serves others; else remove this.'
  if (isBehindGateway) add([...path, 'isBehindGateway'], why, hint)
  for (const setting of servingSettings)
    if (Object.hasOwn(env, setting) && env[setting] !== '') add([...path, 'env', setting], why, hint)
  if (Object.hasOwn(env, 'MCM.READY') && env['MCM.READY'] !== 'none')
    add([...path, 'env', 'MCM.READY'], why, hint)
}

const noConfigsHint = 'Put the file into the image, or use a secret.'

function checkSupported(
  { add, platform: own }: Context,
  service: AppService,
  path: AppProblem['path'],
): void {
  const { name, platform, configs, addCapabilities } = service
  if (platform !== null && own !== undefined && !isPlatform(platform, own))
    add(
      [...path, 'platform'],
      `${name}: the platform of the device is ${own}, not ${platform}`,
      'Leave it out: the device chooses the image of its own platform.',
    )
  for (const [at] of configs.entries())
    add([...path, 'configs', at], `${name}: files of an app are not possible yet`, noConfigsHint)
  const unknown = addCapabilities.find((each) => !containerCapabilities.some((known) => known === each))
  if (unknown !== undefined)
    add(
      [...path, 'addCapabilities'],
      `${name}: ${unknown} is not in the profile of containers`,
      `Possible are ${containerCapabilities.join(', ')}.`,
    )
}

/** Whether a platform is that of a device: `linux/arm64/v8` is `linux/arm64`. */
function isPlatform(wanted: string, own: string): boolean {
  const [system, processor] = wanted.split('/')
  return `${system}/${processor}` === own
}

function checkOrder(
  { add, known, restarts }: Context,
  { name, dependsOn }: AppService,
  path: AppProblem['path'],
): void {
  for (const [at, { service, condition, isRequired }] of dependsOn.entries()) {
    const where = [...path, 'dependsOn', at]
    const restart = restarts.get(service)
    if (condition === 'completed' && restart === 'always')
      add(
        where,
        `${name} waits until ${service} has completed, which is always started again`,
        `Write the restart "no" or "on-failure" for ${service}, or wait until it is started or healthy.`,
      )
    if (condition === 'healthy' && restart !== undefined && restart !== 'always')
      add(
        where,
        `${name} waits until ${service} is healthy, which runs once and has exited then`,
        'Wait until it has completed (in a Compose file: service_completed_successfully).',
      )
    if (!known.has(service) && isRequired)
      add(
        where,
        `${name} depends on ${JSON.stringify(service)}, which is not before it in the plan`,
        'Write services after those that they depend on.',
      )
  }
}

function checkNetworks(
  { plan, add, onNetwork }: Context,
  { name, networks, env }: AppService,
  path: AppProblem['path'],
): void {
  for (const [at, { network }] of networks.entries())
    if (!plan.networks.some((each) => each.name === network))
      add(
        [...path, 'networks', at],
        `the app has no network ${JSON.stringify(network)}`,
        'Add it to the networks of the app.',
      )
  const isJoined = networks.some(({ network }) => onNetwork.get(network)! > 1)
  const own = Object.hasOwn(env, 'MCM.NETWORK') ? env['MCM.NETWORK'] : undefined
  if (isJoined && own !== undefined && own !== 'isolated')
    add(
      [...path, 'env', 'MCM.NETWORK'],
      `${name} has networks of the app; expected "isolated"`,
      'Remove its networks, or the setting.',
    )
}

/** Settings that follow from other parts of the plan. */
const fromPlan = ['MCM.VOLUMES', 'MCM.SECRETS', 'MCM.GATEWAY', 'MCM.HOSTNAME', 'MCM.CAPABILITIES']

function checkEnv(
  { add }: Context,
  { name, env, isBehindGateway }: AppService,
  path: AppProblem['path'],
): void {
  const given = Object.entries(env)
  const size = given.reduce((sum, [key, value]) => sum + key.length + value.length, 0)
  if (given.length > appPlanLimits.envMembers || size > appPlanLimits.envCharacters)
    add(
      [...path, 'env'],
      `it has ${given.length} members with ${size} characters; the limits are ${appPlanLimits.envMembers} and ${appPlanLimits.envCharacters}`,
      'Use fewer variables, or shorter ones.',
    )
  for (const [key, value] of given) {
    if (!key.startsWith('MCM.')) continue
    const where = [...path, 'env', key]
    const expected = expectedOfSetting(key, value)
    if (fromPlan.includes(key)) add(where, 'it follows from the other parts of the plan', 'Leave it out.')
    else if (expected !== undefined) add(where, `expected ${expected}`, 'Correct the value.')
  }
  if (!isBehindGateway && Object.hasOwn(env, 'MCM.BASE_API_PATH'))
    add(
      [...path, 'isBehindGateway'],
      `${name} has a path (MCM.BASE_API_PATH); expected true`,
      'Remove the path, or set it.',
    )
  for (const folder of memoryFoldersOf(env))
    if (isReservedFolder(folder))
      add(
        [...path, 'env', 'MCM.TMPFS'],
        `${name}: the folder ${JSON.stringify(folder)} cannot be in memory`,
        'Choose another folder.',
      )
}

const memoryFoldersOf = (env: AppService['env']): string[] => {
  const text = Object.hasOwn(env, 'MCM.TMPFS') ? env['MCM.TMPFS']! : ''
  return (containerSettings['MCM.TMPFS'].read(text) ?? []).map((each) => each.split(':')[0]!)
}

/** No two services have one path at the gateway, or one port of the device. */
function checkTaken(context: Context, { name, env }: AppService, path: AppProblem['path']): void {
  const { add, paths, ports } = context
  const claim = (owners: Map<string, string>, key: string, setting: string, what: string) => {
    const other = owners.get(key)
    if (other !== undefined && other !== name)
      add([...path, 'env', setting], `${what} ${key} is of ${other}, too`, 'Choose another one.')
    owners.set(key, name)
  }
  const own = Object.hasOwn(env, 'MCM.BASE_API_PATH') ? env['MCM.BASE_API_PATH'] : undefined
  if (own !== undefined) claim(paths, own, 'MCM.BASE_API_PATH', 'the path')
  const text = Object.hasOwn(env, 'MCM.PORTS') ? env['MCM.PORTS']! : ''
  for (const each of containerSettings['MCM.PORTS'].read(text) ?? [])
    claim(ports, portName(each), 'MCM.PORTS', 'the port')
}

/** A setting that was made from parts of the plan, which together may not be possible. */
function joined(
  { add }: Context,
  path: AppProblem['path'],
  name: string,
  texts: readonly string[],
): Record<string, string> {
  if (texts.length === 0) return {}
  const value = texts.join(', ')
  const expected = expectedOfSetting(name, value)
  if (expected !== undefined)
    add(
      path,
      `its parts give ${name} the value ${JSON.stringify(value.slice(0, 200))}; expected ${expected}`,
      'Use fewer of them, or shorter names.',
    )
  return { [name]: value }
}

const enginePattern = /^[a-z0-9][a-z0-9_-]{0,31}$/
const shortName = ({ sha256 }: Context, text: string): string => `v-${sha256(text).slice(0, 16)}`

/** A name in `MCM.VOLUMES`. Names with other characters get one that no file of a person has. */
const volumeName = (context: Context, name: string): string =>
  enginePattern.test(name) && !name.startsWith('v-') ? name : shortName(context, `name ${name}`)

function volumesOf(context: Context, service: AppService, path: AppProblem['path']): readonly string[] {
  const { plan, add, volumes: used } = context
  const targets = new Set(memoryFoldersOf(service.env))
  return service.volumes.map(({ volume, target, isReadOnly }, at) => {
    const where = [...path, 'volumes', at]
    const options = isReadOnly ? ':ro' : ''
    if (targets.has(target))
      add(
        where,
        `${service.name}: the folder ${JSON.stringify(target)} is a volume already, or in memory`,
        'Remove one of them.',
      )
    targets.add(target)
    if (isReservedFolder(target))
      add(
        where,
        `${service.name}: the folder ${JSON.stringify(target)} cannot be a volume`,
        'Choose another folder.',
      )
    if (volume === null) return `${shortName(context, `path ${target}`)}:${target}${options}`
    if (!plan.volumes.some((each) => each.name === volume))
      add(where, `the app has no volume ${JSON.stringify(volume)}`, 'Add it to the volumes of the app.')
    const other = used.get(volume)
    if (other === service.name)
      add(where, `${service.name} has the volume ${JSON.stringify(volume)} twice`, 'Remove one of them.')
    else if (other !== undefined)
      add(
        where,
        `the volume ${JSON.stringify(volume)} is of ${other}, too; services do not share volumes yet`,
        'Give each a volume of its own, and let one get the data from the other over the network.',
      )
    used.set(volume, service.name)
    return `${volumeName(context, volume)}:${target}${options}`
  })
}

function secretsOf(
  { plan, add, secretNames }: Context,
  service: AppService,
  path: AppProblem['path'],
): readonly string[] {
  return service.secrets.map(({ secret, file }, at) => {
    const where = [...path, 'secrets', at]
    const found = plan.secrets.find((each) => each.name === secret)
    const name = found ? appSecretName(plan.name, found) : secret
    if (!found)
      add(where, `the app has no secret ${JSON.stringify(secret)}`, 'Add it to the secrets of the app.')
    else if (!secretNamePattern.test(longestName(found, name)))
      add(
        where,
        `${JSON.stringify(name)} is too long for the name of a secret`,
        'Shorten the name of the app or of the secret.',
      )
    return `${secretNames?.get(secret) ?? name}:/run/secrets/${file}`
  })
}

/** With a version, which only the device knows. */
const longestName = ({ from }: AppPlan['secrets'][number], name: string): string =>
  from === 'project' ? name : `${name}.${'0'.repeat(appSecretVersionDigits)}`

/** Settings that single members of a plan become. */
function settingsOf({
  isBehindGateway,
  hostname,
  addCapabilities,
  dropCapabilities,
}: AppService): Record<string, string> {
  const isKept = (each: string) =>
    addCapabilities.includes(each) || !(dropCapabilities.includes('ALL') || dropCapabilities.includes(each))
  const kept = containerCapabilities.filter(isKept)
  return {
    ...(!isBehindGateway && { 'MCM.GATEWAY': 'off' }),
    ...(hostname !== null && { 'MCM.HOSTNAME': hostname }),
    ...(kept.length < containerCapabilities.length && { 'MCM.CAPABILITIES': kept.join(', ') }),
  }
}
