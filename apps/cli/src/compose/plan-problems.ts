/** What the runtime cannot do with a plan, at the lines of the Compose file that it came from. */
import { hash } from 'node:crypto'
import { type AppPlan, type AppProblem, planPathText, readAppPlan } from '@selvedge/protocol'
import type { At } from './at.ts'
import type { Draft } from './service/draft.ts'
import { memberOf } from './tree.ts'

/** Keys of a service in the file, by the member of the plan that each becomes. */
const keys: Readonly<Record<string, string>> = {
  platform: 'platform',
  hostname: 'hostname',
  restart: 'restart',
  isBehindGateway: 'ports',
  addCapabilities: 'cap_add',
  dropCapabilities: 'cap_drop',
  networks: 'networks',
  volumes: 'volumes',
  secrets: 'secrets',
  configs: 'configs',
  configFolders: 'volumes',
  dependsOn: 'depends_on',
  env: 'environment',
}

/**
 * Reports what `deployApp` would refuse: the same function decides both.
 *
 * @param root the file itself
 */
export function reportPlanProblems(plan: AppPlan, drafts: ReadonlyMap<string, Draft>, root: At): void {
  const { problems } = readAppPlan(plan, {
    sha256: (content) => hash('sha256', content, 'hex'),
    platform: undefined,
  })
  const known = new Set(root.report.problems.map(({ path }) => path))
  for (const problem of problems) {
    const { tree, path } = placeOf(problem.path, plan, drafts) ?? root
    // What the reader of the key reports there describes the file better.
    if (known.has(path) || (known.size > 0 && isUnread(problem, plan))) continue
    root.report.problem(tree.place, path, sentence(problem, plan))
  }
}

/** Whether a service has a secret that the plan has not: the file has a problem where it declares that secret. */
function isUnread({ path: [kind, index, field, item] }: AppProblem, plan: AppPlan): boolean {
  if (kind !== 'services' || field !== 'secrets') return false
  const used = plan.services[Number(index)]!.secrets[Number(item)]!
  return !plan.secrets.some(({ name }) => name === used.secret)
}

/** Where the value of a plan comes from; undefined for the file itself. */
function placeOf(
  [kind, index, field, item]: AppProblem['path'],
  plan: AppPlan,
  drafts: ReadonlyMap<string, Draft>,
): At | undefined {
  const draft = kind === 'services' ? drafts.get(plan.services[Number(index)]!.name) : undefined
  if (!draft) return undefined
  return itemOf(draft, field, item) ?? memberAt(draft, field) ?? draft.at
}

function itemOf(
  draft: Draft,
  field: string | number | undefined,
  item: string | number | undefined,
): At | undefined {
  if (field === 'env') return draft.settings.get(String(item))?.at
  const places: Readonly<Record<string, readonly At[]>> = {
    volumes: draft.places.volumes,
    configs: draft.places.configs,
    configFolders: draft.configFolders.map(({ at }) => at),
    secrets: draft.places.secrets,
    dependsOn: draft.dependsOn.map(({ at }) => at),
  }
  return typeof field === 'string' && Object.hasOwn(places, field) ? places[field]![Number(item)] : undefined
}

function memberAt({ at }: Draft, field: string | number | undefined): At | undefined {
  const key = typeof field === 'string' && Object.hasOwn(keys, field) ? keys[field]! : undefined
  const tree = key === undefined ? undefined : memberOf(at.tree, key)
  return tree && { tree, path: `${at.path}.${key}`, report: at.report }
}

/** The path and the line show the service already. */
function sentence({ path, why, hint }: AppProblem, plan: AppPlan): string {
  if (path[0] !== 'services')
    return `${path.length === 0 ? '' : `${planPathText(path)}: `}${capital(why)}. ${hint}`
  const { name } = plan.services[Number(path[1])]!
  if (why.startsWith(`${name}: `)) return `${capital(why.slice(name.length + 2))}. ${hint}`
  return `${why.startsWith(name) ? why : capital(why)}. ${hint}`
}

const capital = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}`
