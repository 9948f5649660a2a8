/** Volumes of a member. */
import { isReservedFolder, reservedPaths } from '../../mcm/settings/files.ts'
import { containerSettings, usedMounts } from '../../mcm/settings.ts'
import type { AppPlan, AppService } from '../plan.ts'
import { memoryFoldersOf } from './env.ts'
import type { AppProblem, PlanContext } from './problems.ts'

const enginePattern = /^[a-z0-9][a-z0-9_-]{0,31}$/
const shortName = ({ sha256 }: PlanContext, text: string): string => `v-${sha256(text).slice(0, 16)}`

/** A name in `MCM.VOLUMES`. Names with other characters get one that no file of a person has. */
const volumeName = (context: PlanContext, name: string): string =>
  enginePattern.test(name) && !name.startsWith('v-') ? name : shortName(context, `name ${name}`)

/**
 * The volumes of a plan that belong to the app and not to one of its containers: those that several services have.
 *
 * @param before those of an earlier release, which stay what they are with one service, too
 */
export function sharedVolumes({ services }: AppPlan, before: readonly string[]): ReadonlySet<string> {
  const names = services.flatMap(({ volumes }) => [...new Set(volumes.map(({ volume }) => volume))])
  const isShared = (each: string | null, at: number) =>
    each !== null && (before.includes(each) || names.indexOf(each) !== at)
  return new Set(names.filter(isShared) as string[])
}

/** Texts of the settings `MCM.VOLUMES` and `MCM.APP_VOLUMES`. */
interface VolumeTexts {
  readonly own: readonly string[]
  readonly shared: readonly string[]
}

export function volumesOf(context: PlanContext, service: AppService, path: AppProblem['path']): VolumeTexts {
  const { plan, add, shared } = context
  const own: string[] = []
  const ofApp: string[] = []
  const targets = new Set(memoryFoldersOf(service.env))
  const names = new Set<string>()
  for (const [at, { volume, target, isReadOnly }] of service.volumes.entries()) {
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
    if (volume === null) {
      own.push(`${shortName(context, `path ${target}`)}:${target}${options}`)
      continue
    }
    if (!plan.volumes.some((each) => each.name === volume))
      add(where, `the app has no volume ${JSON.stringify(volume)}`, 'Add it to the volumes of the app.')
    if (names.has(volume))
      add(where, `${service.name} has the volume ${JSON.stringify(volume)} twice`, 'Remove one of them.')
    names.add(volume)
    const text = `${volumeName(context, volume)}:${target}${options}`
    if (!shared.has(volume)) own.push(text)
    else {
      ofApp.push(`${plan.name}/${text}`)
      checkNothingBelow(context, service, where, target)
    }
  }
  return { own, shared: ofApp }
}

/** Another member could put a link in the place of a folder there, before the engine mounts something on it. */
function checkNothingBelow(
  { add }: PlanContext,
  { name, volumes, configs, configFolders = [], env }: AppService,
  where: AppProblem['path'],
  target: string,
): void {
  const mounts = Object.hasOwn(env, 'MCM.MOUNTS') ? env['MCM.MOUNTS']! : ''
  const others = [
    ...reservedPaths,
    ...memoryFoldersOf(env),
    ...configFolders,
    ...[...volumes, ...configs].map((each) => each.target),
    ...usedMounts(containerSettings['MCM.MOUNTS'].read(mounts) ?? []).map((each) => each.target),
  ]
  const below = others.find((each) => each.startsWith(`${target}/`))
  if (below !== undefined)
    add(
      where,
      `${name}: services share the volume at ${JSON.stringify(target)}, and ${JSON.stringify(below)} would be in it`,
      'Choose another path for one of them.',
    )
}
