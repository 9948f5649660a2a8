/** Volumes of a member. */
import { isReservedFolder } from '../../mcm/settings/files.ts'
import type { AppService } from '../plan.ts'
import { memoryFoldersOf } from './env.ts'
import type { AppProblem, PlanContext } from './problems.ts'

const enginePattern = /^[a-z0-9][a-z0-9_-]{0,31}$/
const shortName = ({ sha256 }: PlanContext, text: string): string => `v-${sha256(text).slice(0, 16)}`

/** A name in `MCM.VOLUMES`. Names with other characters get one that no file of a person has. */
const volumeName = (context: PlanContext, name: string): string =>
  enginePattern.test(name) && !name.startsWith('v-') ? name : shortName(context, `name ${name}`)

export function volumesOf(
  context: PlanContext,
  service: AppService,
  path: AppProblem['path'],
): readonly string[] {
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
