/** Settings and variables of a member. */
import { isReservedFolder } from '../../mcm/settings/files.ts'
import { containerCapabilities, containerSettings } from '../../mcm/settings.ts'
import { type AppService, appPlanLimits, expectedOfSetting } from '../plan.ts'
import type { AppProblem, PlanContext } from './problems.ts'

/** Settings that follow from other parts of the plan. */
const fromPlan = [
  'MCM.VOLUMES',
  'MCM.APP_VOLUMES',
  'MCM.SECRETS',
  'MCM.CONFIGS',
  'MCM.CONFIG_FOLDERS',
  'MCM.GATEWAY',
  'MCM.HOSTNAME',
  'MCM.CAPABILITIES',
]

export function checkEnv(
  { add }: PlanContext,
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

export const memoryFoldersOf = (env: AppService['env']): string[] => {
  const text = Object.hasOwn(env, 'MCM.TMPFS') ? env['MCM.TMPFS']! : ''
  return (containerSettings['MCM.TMPFS'].read(text) ?? []).map((each) => each.split(':')[0]!)
}

/** A setting that was made from parts of the plan, which together may not be possible. */
export function joined(
  { add }: PlanContext,
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

/** Settings that single members of a plan become. */
export function settingsOf({
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
