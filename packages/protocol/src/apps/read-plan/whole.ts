/** What is checked of a plan as a whole. */
import { appPlanLimits } from '../plan.ts'
import type { PlanContext } from './problems.ts'

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

const utf8Bytes = (text: string): number => new TextEncoder().encode(text).length

export function checkSize({ plan, add }: PlanContext): void {
  const bytes = utf8Bytes(JSON.stringify(plan))
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
}

const smallerHint = 'Put it into the image.'

export function checkConfigs({ plan, files, add }: PlanContext): void {
  const sizes = plan.configs.map(({ name }) => files.get(name)!.bytes)
  for (const [at, bytes] of sizes.entries())
    if (bytes > appPlanLimits.configBytes)
      add(['configs', at], `it has ${bytes} bytes; the limit is ${appPlanLimits.configBytes}`, smallerHint)
  const all = sizes.reduce((sum, bytes) => sum + bytes, 0)
  if (all > appPlanLimits.allConfigBytes)
    add(
      ['configs'],
      `all of them have ${all} bytes; the limit is ${appPlanLimits.allConfigBytes}`,
      'Put some into images.',
    )
}
