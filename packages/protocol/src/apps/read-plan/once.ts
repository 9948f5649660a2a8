/** Members that run once, and the order in which members start. */
import type { AppService } from '../plan.ts'
import type { AppProblem, PlanContext } from './problems.ts'

/** Whether a service runs to its end once, while the app is deployed. */
export const isOnce = ({ restart }: Pick<AppService, 'restart'>): boolean => restart !== 'always'

/** Restarts of `on-failure` without a number of its own. */
const defaultRetries = 5

export function retriesOf(service: Pick<AppService, 'restart' | 'maxRestarts'>): number | null {
  if (!isOnce(service)) return null
  return service.restart === 'no' ? 0 : (service.maxRestarts ?? defaultRetries)
}

/** Settings of a service that runs once, which its plan may change: it listens on no port, and has ten minutes to complete. */
export const onceSettings = { 'MCM.READY': 'none', 'MCM.HEALTH_SEC': '600' } as const

/** Settings of what serves others. */
const servingSettings = ['MCM.PORTS', 'MCM.HEALTH_PATH', 'MCM.CRON'] as const

export function checkOnce({ add }: PlanContext, service: AppService, path: AppProblem['path']): void {
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

export function checkOrder(
  { add, known, restarts }: PlanContext,
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
