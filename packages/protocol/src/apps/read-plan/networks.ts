/** Networks of members, and what they may not have together: paths at the gateway, and ports of the device. */
import { portName } from '../../mcm/ports.ts'
import { containerSettings } from '../../mcm/settings.ts'
import type { AppPlan, AppService } from '../plan.ts'
import type { AppProblem, PlanContext } from './problems.ts'

export function checkNetworks(
  { plan, add, onNetwork }: PlanContext,
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
  const isHeld = networks.some(({ network }) => onNetwork.get(network)! > 1) || isCutOff(plan, networks)
  const own = Object.hasOwn(env, 'MCM.NETWORK') ? env['MCM.NETWORK'] : undefined
  if (isHeld && own !== undefined && own !== 'isolated')
    add(
      [...path, 'env', 'MCM.NETWORK'],
      `${name} has networks of the app; expected "isolated"`,
      'Remove its networks, or the setting.',
    )
}

/** Whether a member is only on networks without a way out. */
const isCutOff = (plan: AppPlan, networks: AppService['networks']): boolean =>
  networks.length > 0 &&
  networks.every(({ network }) => plan.networks.some((each) => each.name === network && each.isInternal))

/** Settings of a member that follow from its networks; its own ones count more. */
export const networkSettings = (
  { plan }: Pick<PlanContext, 'plan'>,
  { networks }: AppService,
): Record<string, string> => (isCutOff(plan, networks) ? { 'MCM.OUTBOUND': 'none' } : {})

/** No two services have one path at the gateway, or one port of the device. */
export function checkTaken(context: PlanContext, { name, env }: AppService, path: AppProblem['path']): void {
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
