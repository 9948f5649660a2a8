/** Files of the app that a member gets. */
import { isInFolder } from '../../mcm/settings/configs.ts'
import { isReservedFolder, reservedPaths } from '../../mcm/settings/files.ts'
import { configText, containerSettings, usedMounts } from '../../mcm/settings.ts'
import { type AppService, appPlanLimits } from '../plan.ts'
import { memoryFoldersOf } from './env.ts'
import type { AppProblem, PlanContext } from './problems.ts'

/** @returns the parts of `MCM.CONFIGS` */
export function configsOf(
  { files: contents, add }: PlanContext,
  service: AppService,
  path: AppProblem['path'],
): readonly string[] {
  const { name } = service
  const others = foldersOf(service)
  const files = new Set<string>()
  let bytes = 0
  const texts = service.configs.flatMap(({ config, target, mode, uid, gid }, at) => {
    const where = [...path, 'configs', at]
    const why = whyNot(target, others, files)
    if (why !== undefined) add(where, `${name}: ${why}`, 'Choose another path, or remove one of them.')
    files.add(target)
    const found = contents.get(config)
    if (!found) {
      add(where, `the app has no config ${JSON.stringify(config)}`, 'Add it to the configs of the app.')
      return []
    }
    bytes += found.bytes
    return [configText({ digest: found.digest, target, mode: Number.parseInt(mode, 8), uid, gid })]
  })
  if (bytes > appPlanLimits.serviceConfigBytes)
    add(
      [...path, 'configs'],
      `${name}: its files have ${bytes} bytes; the limit is ${appPlanLimits.serviceConfigBytes}`,
      'Put some into the image.',
    )
  return texts
}

/** Folders that a member has in memory, from volumes, and of the device. */
function foldersOf({ volumes, env }: AppService): string[] {
  const text = Object.hasOwn(env, 'MCM.MOUNTS') ? env['MCM.MOUNTS']! : ''
  return [
    ...memoryFoldersOf(env),
    ...volumes.map(({ target }) => target),
    ...usedMounts(containerSettings['MCM.MOUNTS'].read(text) ?? []).map(({ target }) => target),
  ]
}

/** Folders of files are read-only, and replace those of the image: nothing else is in them, and each has a file. */
export function checkFolders({ add }: PlanContext, service: AppService, path: AppProblem['path']): void {
  const { name, configs, configFolders = [] } = service
  const others = foldersOf(service)
  for (const [at, folder] of configFolders.entries()) {
    const where = [...path, 'configFolders', at]
    const shown = JSON.stringify(folder)
    const inside = others.find((each) => each === folder || isInFolder(each, folder))
    if (inside !== undefined)
      add(
        where,
        `${name}: ${JSON.stringify(inside)} would be in ${shown}, a folder with nothing but files of the app`,
        'Choose another path for one of them.',
      )
    if (isReservedFolder(folder) || reservedPaths.some((each) => isInFolder(each, folder)))
      add(where, `${name}: the folder ${shown} cannot be replaced`, 'Choose another folder.')
    if (!configs.some(({ target }) => isInFolder(target, folder)))
      add(where, `${name}: no file is in the folder ${shown}`, 'Remove it, or give it a file.')
  }
}

function whyNot(target: string, folders: readonly string[], files: ReadonlySet<string>): string | undefined {
  const shown = JSON.stringify(target)
  if (isReservedFolder(target)) return `the file ${shown} cannot be replaced`
  if (files.has(target)) return `the file ${shown} is there twice`
  if (folders.includes(target)) return `${shown} is a folder of the service already`
  const others = [...folders, ...files]
  const below = others.find((each) => isInFolder(each, target))
  if (below !== undefined) return `the file ${shown} would be the folder of ${JSON.stringify(below)}`
  const above = [...files].find((each) => isInFolder(target, each))
  return above === undefined ? undefined : `${JSON.stringify(above)} is a file, and has no ${shown} in it`
}
