/** What is checked of a plan as a whole. */
import { appPlanLimits } from '../plan.ts'
import type { PlanContext } from './problems.ts'
import { noConfigsHint } from './supported.ts'

export function checkUnique({ plan, add }: PlanContext): void {
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

export function checkSize({ plan, add }: PlanContext): void {
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
