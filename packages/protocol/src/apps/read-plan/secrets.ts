/** Secrets of a member. */
import { secretNamePattern } from '../../mcm/settings/secrets.ts'
import { appSecretName, appSecretVersionDigits } from '../app-secrets.ts'
import type { AppPlan, AppService } from '../plan.ts'
import type { AppProblem, PlanContext } from './problems.ts'

export function secretsOf(
  { plan, add, secretNames }: PlanContext,
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
