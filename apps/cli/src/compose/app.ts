/** A plan of the app that a Compose file describes. */

import { basename } from 'node:path'
import {
  type AppPlan,
  type AppService,
  appNamePattern,
  appPlanLimits,
  appServicePattern,
} from '@selvedge/protocol'
import { fileKeys } from './app-keys.ts'
import { type At, itemsOf, type Member, membersOf, note, problem, textOf } from './at.ts'
import { extendService } from './extend.ts'
import { choosePaths } from './gateway.ts'
import { composeLimits } from './limits.ts'
import type { Opened } from './open-compose.ts'
import { orderServices } from './order-services.ts'
import { type Parts, readParts } from './parts.ts'
import { reportPlanProblems } from './plan-problems.ts'
import { type Report, shown } from './report.ts'
import { createDraft, type Draft, readKeys, type Scope, unknownKey } from './service/draft.ts'
import { defaultNetwork, finishService, type UsedPorts } from './service/finish.ts'
import { serviceKeys } from './service/keys.ts'
import { countValues, memberOf } from './tree.ts'

export interface AppOptions {
  /** Profiles that are chosen; `*` for all. */
  readonly profiles: readonly string[]
  /** In place of the name in the file. */
  readonly name: string | undefined
}

/** @returns the plan, which is complete only if the report has no problem */
export async function readApp(
  opened: Opened,
  options: AppOptions,
  report: Report,
): Promise<AppPlan | undefined> {
  const at: At = { tree: opened.tree, path: '', report }
  if (opened.tree.kind !== 'map')
    return problem(at, 'The file is not a mapping. Write "services:" with the containers of the app.')
  checkFileKeys(at)
  const name = readName(at, options.name, opened.folder)
  const { files, variable } = opened
  const parts = readParts(opened.tree, { files, variable, report })
  const members = await readServices(opened, options.profiles, report)
  const scope: Scope = { files, variable, has: namesIn(parts), addFile: parts.addFile }
  const drafts = members.active.map((member) => {
    const draft = createDraft(member.name, member)
    readKeys(draft, member, serviceKeys, scope)
    return draft
  })
  const ordered = orderServices(drafts, members.inactive)
  chooseRestarts(drafts)
  const paths = choosePaths(name, drafts)
  const ports: UsedPorts = new Map()
  const finished = drafts.map((draft) =>
    finishService(draft, paths.get(draft.name), isCutOff(draft, parts), ports),
  )
  if (finished.length === 0 || finished.includes(undefined)) return undefined
  const byName = new Map((finished as AppService[]).map((each) => [each.name, each]))
  const plan = planOf(
    name,
    ordered.map((each) => byName.get(each)!),
    parts,
  )
  reportPlanProblems(plan, new Map(drafts.map((each) => [each.name, each])), at)
  return plan
}

function checkFileKeys(at: At): void {
  for (const { name, key: place, path, report } of membersOf(at)) {
    if (name.startsWith('x-')) continue
    const key = Object.hasOwn(fileKeys, name) ? fileKeys[name]! : undefined
    if (!key) report.problem(place, path, unknownKey(name, fileKeys, report))
    else if (key.use === 'refused') report.problem(place, path, key.why)
    else if (key.use === 'ignored') report.note(place, path, key.why)
  }
}

const expectedName = '1 to 30 lowercase letters, digits and -'

function readName(at: At, given: string | undefined, folder: string): string {
  const tree = memberOf(at.tree, 'name')
  const own = given ?? (tree ? textOf({ ...at, tree, path: 'name' }) : undefined)
  const plain = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 30)
    .replace(/^-|-$/g, '')
  const name = own ?? (plain === '' ? 'app' : plain)
  if (appNamePattern.test(name)) return name
  at.report.problem(
    tree?.place ?? at.tree.place,
    'name',
    `${shown(name)} is not possible as the name of an app. Write ${expectedName}.`,
  )
  return 'app'
}

const namesIn = (parts: Parts): Scope['has'] => ({
  networks: new Set([defaultNetwork, ...parts.networks.keys()]),
  volumes: new Set(parts.volumes.keys()),
  secrets: new Set(parts.secrets.keys()),
  configs: new Set(parts.configs.keys()),
})

/** The services of the chosen profiles, each with what it extends, and the names of the others. */
async function readServices(opened: Opened, profiles: readonly string[], report: Report) {
  const tree = memberOf(opened.tree, 'services')
  const active: Member[] = []
  const inactive = new Set<string>()
  if (!tree) {
    report.problem(
      opened.tree.place,
      'services',
      'The file has no services. Add "services:" with the containers of the app.',
    )
    return { active, inactive }
  }
  const at: At = { tree, path: 'services', report }
  const members = membersOf(at, 'a mapping with a name for each service')
  if (members.length > composeLimits.services) {
    problem(
      at,
      `It has ${members.length} services. At most ${composeLimits.services} are read, and ${appPlanLimits.services} deployed.`,
    )
    return { active, inactive }
  }
  let values = 0
  for (const member of members) {
    if (!appServicePattern.test(member.name)) {
      report.problem(
        member.key,
        member.path,
        `${shown(member.name)} is not possible as the name of a service. Write up to 32 lowercase letters, digits, _ and -, beginning and ending with a letter or digit.`,
      )
      continue
    }
    const extended = {
      ...member,
      tree: await extendService(member.name, member.tree, member.path, opened, report),
    }
    values += countValues(extended.tree)
    if (values > composeLimits.extendedValues) {
      problem(
        at,
        `The services have more than ${composeLimits.extendedValues} values with what they extend. Write fewer.`,
      )
      return { active: [], inactive }
    }
    if (isActive(extended, profiles)) active.push(extended)
    else inactive.add(member.name)
  }
  if (active.length > appPlanLimits.services)
    problem(
      at,
      `It has ${active.length} services in the chosen profiles. At most ${appPlanLimits.services} are possible.`,
    )
  else if (active.length === 0)
    problem(at, 'No service is in the chosen profiles. Choose one with --profile, or add a service.')
  return { active: active.slice(0, appPlanLimits.services), inactive }
}

function isActive(member: Member, chosen: readonly string[]): boolean {
  const tree = memberOf(member.tree, 'profiles')
  if (!tree) return true
  const names = itemsOf({ tree, path: `${member.path}.profiles`, report: member.report }).map((item) =>
    textOf(item),
  )
  return (
    names.length === 0 ||
    chosen.includes('*') ||
    names.some((each) => each !== undefined && chosen.includes(each))
  )
}

/**
 * Without `restart`, a service that others wait for until it has completed runs once: in Compose, every service without it does. One that
 * is to start again after a failure, and that others use, serves until it is stopped.
 */
function chooseRestarts(drafts: readonly Draft[]): void {
  const waits = drafts.flatMap(({ dependsOn }) => dependsOn)
  const isAwaited = ({ name }: Draft, isCompletion: boolean) =>
    waits.some(({ service, condition }) => service === name && (condition === 'completed') === isCompletion)
  for (const draft of drafts) {
    if (isAwaited(draft, true)) draft.restart ??= 'no'
    else if (draft.restart === 'on-failure') chooseOnFailure(draft, isAwaited(draft, false))
  }
}

function chooseOnFailure(draft: Draft, isNeeded: boolean): void {
  const tree = memberOf(draft.at.tree, 'restart')
  const at = tree ? { tree, path: `${draft.at.path}.restart`, report: draft.at.report } : draft.at
  const { ports, exposed, settings } = draft
  const hasCheck = settings.has('MCM.HEALTH_CMD') && settings.get('MCM.HEALTH_CMD')!.value !== '[]'
  const isService = ports.length > 0 || exposed.length > 0 || hasCheck || isNeeded
  if (isService) draft.restart = 'always'
  note(
    at,
    isService
      ? 'It serves others, so it does not run once: it is started again whenever it exits, also with exit code 0.'
      : 'It runs once while the app is deployed, and has to exit with 0. Write unless-stopped for a program that continues.',
  )
}

/** Whether the service is only on networks without a way out. */
function isCutOff({ networks, networkMode }: Draft, parts: Parts): boolean {
  const own = networks?.map(({ network }) => network) ?? [defaultNetwork]
  return !networkMode && own.length > 0 && own.every((each) => parts.networks.get(each)?.isInternal)
}

/** What no service uses is left out. */
function planOf(name: string, services: readonly AppService[], parts: Parts): AppPlan {
  const usedIn = (names: (service: AppService) => readonly (string | null)[]) =>
    new Set(services.flatMap(names))
  const networks = usedIn((each) => each.networks.map(({ network }) => network))
  const volumes = usedIn((each) => each.volumes.map(({ volume }) => volume))
  const secrets = usedIn((each) => each.secrets.map(({ secret }) => secret))
  const configs = usedIn((each) => each.configs.map(({ config }) => config))
  return {
    name,
    services: [...services],
    networks: [
      ...[...parts.networks.values()].filter((each) => networks.has(each.name)),
      ...(networks.has(defaultNetwork) && !parts.networks.has(defaultNetwork)
        ? [{ name: defaultNetwork, isInternal: false }]
        : []),
    ],
    volumes: [...parts.volumes.values()].filter((each) => volumes.has(each.name)),
    secrets: [...parts.secrets.values()].filter(
      (each) => each !== undefined && secrets.has(each.name),
    ) as AppPlan['secrets'],
    configs: [...parts.configs.values()].filter((each) => configs.has(each.name)),
  }
}
