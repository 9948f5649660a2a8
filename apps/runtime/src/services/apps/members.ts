/** The containers of an app, from its plan. What the runtime cannot keep is refused by its path. */
import { hash } from 'node:crypto'
import {
  type AppPlan,
  type AppService,
  appContainerName,
  appPlanLimits,
  appSecretName,
  type ContainerSpec,
  expectedOfSetting,
  RpcError,
  secretNamePattern,
} from '@selvedge/protocol'
import type { StoredMember } from './stored-apps.ts'

export interface Member {
  readonly spec: ContainerSpec
  readonly stored: StoredMember
}

export const refused = (path: string, why: string, hint?: string): RpcError =>
  new RpcError('invalid_params', `plan.${path}: ${why}`, hint === undefined ? {} : { hint })

/**
 * @returns in the order of the plan
 * @throws RpcError `invalid_params` with the path of what is not possible, or does not fit together
 */
export function readMembers(plan: AppPlan): Member[] {
  expectUnique(plan)
  const known = new Set<string>()
  const volumes = new Map<string, string>()
  return plan.services.map((service, at) => {
    const path = `services[${at}]`
    expectSupported(service, path)
    expectOrder(service, path, known)
    known.add(service.name)
    return {
      spec: {
        name: appContainerName(plan.name, service.name),
        image: service.image,
        env: envOf(plan, service, path, volumes),
      },
      stored: storedOf(plan, service, path),
    }
  })
}

function expectUnique({ services, networks, volumes, secrets, configs }: AppPlan): void {
  const kinds = { services, networks, volumes, secrets, configs }
  for (const [kind, items] of Object.entries(kinds)) {
    const names = new Set<string>()
    for (const [at, { name }] of items.entries()) {
      if (names.has(name)) throw refused(`${kind}[${at}].name`, `${JSON.stringify(name)} is there twice`)
      names.add(name)
    }
  }
  if (configs.length > 0)
    throw refused(
      'configs',
      'files of an app are not possible yet',
      'Put the file into the image, or use a secret.',
    )
}

/** Fields that have no counterpart in a container yet: undefined where the value is possible. */
const unsupported: Readonly<Record<string, (service: AppService) => string | undefined>> = {
  platform: ({ platform }) =>
    platform === null ? undefined : 'the device chooses the image of its own platform; leave it out',
  hostname: ({ name, hostname }) =>
    hostname === null || hostname === name
      ? undefined
      : 'host names of members are not possible yet; use an alias',
  restart: ({ restart }) =>
    restart === 'always' ? undefined : 'a member that exits is started again; "always" is possible',
  needsInit: ({ needsInit }) => (needsInit ? 'an init as first process is not possible yet' : undefined),
  addCapabilities: ({ addCapabilities }) =>
    addCapabilities.length > 0
      ? 'capabilities cannot be chosen yet; a container has those of the profile'
      : undefined,
  dropCapabilities: ({ dropCapabilities }) =>
    dropCapabilities.length > 0
      ? 'capabilities cannot be chosen yet; a container has those of the profile'
      : undefined,
  configs: ({ configs }) => (configs.length > 0 ? 'files of an app are not possible yet' : undefined),
}

function expectSupported(service: AppService, path: string): void {
  for (const [field, problemOf] of Object.entries(unsupported)) {
    const problem = problemOf(service)
    if (problem !== undefined) throw refused(`${path}.${field}`, `${service.name}: ${problem}`)
  }
}

function expectOrder({ name, dependsOn }: AppService, path: string, known: ReadonlySet<string>): void {
  for (const [at, { service, condition, isRequired }] of dependsOn.entries()) {
    const where = `${path}.dependsOn[${at}]`
    if (condition === 'completed')
      throw refused(
        where,
        `${name} waits until ${service} has completed; members run until they are stopped`,
        'Let the program wait by itself, or deploy the other one as a single container before.',
      )
    if (!known.has(service) && isRequired)
      throw refused(
        where,
        `${name} depends on ${JSON.stringify(service)}, which is not before it in the plan`,
      )
  }
}

function storedOf(
  plan: AppPlan,
  { name, networks, dependsOn, volumes }: AppService,
  path: string,
): StoredMember {
  for (const [at, { network }] of networks.entries())
    if (!plan.networks.some((each) => each.name === network))
      throw refused(`${path}.networks[${at}]`, `the app has no network ${JSON.stringify(network)}`)
  return {
    service: name,
    networks,
    dependsOn: [...new Set(dependsOn.map(({ service }) => service))],
    volumes: volumes.flatMap(({ volume }) => (volume === null ? [] : [volume])),
  }
}

/** Settings that follow from other parts of the plan. */
const fromPlan = ['MCM.VOLUMES', 'MCM.SECRETS', 'MCM.GATEWAY']

/** @param volumes the service of each named volume so far */
function envOf(
  plan: AppPlan,
  service: AppService,
  path: string,
  volumes: Map<string, string>,
): Record<string, string> {
  const given = Object.entries(service.env)
  const size = given.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  if (given.length > appPlanLimits.envMembers || size > appPlanLimits.envCharacters)
    throw refused(
      `${path}.env`,
      `it has ${given.length} members with ${size} characters; the limits are ${appPlanLimits.envMembers} and ${appPlanLimits.envCharacters}`,
    )
  for (const [name, value] of given) {
    if (!name.startsWith('MCM.')) continue
    const where = `${path}.env[${JSON.stringify(name)}]`
    if (fromPlan.includes(name))
      throw refused(where, 'it follows from the other parts of the plan; leave it out')
    const expected = expectedOfSetting(name, value)
    if (expected !== undefined) throw refused(where, `expected ${expected}`)
  }
  if (!service.isBehindGateway && Object.hasOwn(service.env, 'MCM.BASE_API_PATH'))
    throw refused(`${path}.isBehindGateway`, `${service.name} has a path (MCM.BASE_API_PATH); expected true`)
  return {
    ...service.env,
    ...checked(path, 'MCM.VOLUMES', volumesOf(plan, service, path, volumes)),
    ...checked(path, 'MCM.SECRETS', secretsOf(plan, service, path)),
    ...(!service.isBehindGateway && { 'MCM.GATEWAY': 'off' }),
  }
}

/** A setting that was made from parts of the plan, which together may not be possible. */
function checked(path: string, name: string, texts: readonly string[]): Record<string, string> {
  if (texts.length === 0) return {}
  const value = texts.join(', ')
  const expected = expectedOfSetting(name, value)
  if (expected !== undefined)
    throw refused(
      path,
      `its parts give ${name} the value ${JSON.stringify(value.slice(0, 200))}; expected ${expected}`,
    )
  return { [name]: value }
}

const enginePattern = /^[a-z0-9][a-z0-9_-]{0,31}$/
const shortName = (text: string): string => `v-${hash('sha256', text, 'hex').slice(0, 16)}`

/** A name in `MCM.VOLUMES`. Names with other characters get one that no file of a person has. */
const volumeName = (name: string): string =>
  enginePattern.test(name) && !name.startsWith('v-') ? name : shortName(`name ${name}`)

function volumesOf(
  plan: AppPlan,
  service: AppService,
  path: string,
  used: Map<string, string>,
): readonly string[] {
  return service.volumes.map(({ volume, target, isReadOnly }, at) => {
    const where = `${path}.volumes[${at}]`
    if (isReadOnly) throw refused(where, 'volumes that a member cannot write are not possible yet')
    if (volume === null) return `${shortName(`path ${target}`)}:${target}`
    if (!plan.volumes.some((each) => each.name === volume))
      throw refused(where, `the app has no volume ${JSON.stringify(volume)}`)
    const other = used.get(volume)
    if (other !== undefined)
      throw refused(
        where,
        other === service.name
          ? `${service.name} has the volume ${JSON.stringify(volume)} twice`
          : `the volume ${JSON.stringify(volume)} is of ${other}, too; members do not share volumes yet`,
      )
    used.set(volume, service.name)
    return `${volumeName(volume)}:${target}`
  })
}

function secretsOf(plan: AppPlan, service: AppService, path: string): readonly string[] {
  return service.secrets.map(({ secret, file }, at) => {
    const where = `${path}.secrets[${at}]`
    const found = plan.secrets.find((each) => each.name === secret)
    if (!found) throw refused(where, `the app has no secret ${JSON.stringify(secret)}`)
    const name = appSecretName(plan.name, found)
    if (!secretNamePattern.test(name))
      throw refused(
        where,
        `${JSON.stringify(name)} is too long for the name of a secret; shorten the name of the app`,
      )
    return `${name}:/run/secrets/${file}`
  })
}
