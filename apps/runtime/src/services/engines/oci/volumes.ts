/**
 * The volumes of a container: those of its settings, and those that its image declares. They belong to the data of the container, so
 * they are the same after a redeploy, and are removed with the container; or to its app, of which all members find the same ones. A new
 * volume gets the content and the owner of the folder of the image; the engine does that.
 */
import { hash } from 'node:crypto'
import { isReservedFolder, RpcError, usedAppVolumes, usedVolumes } from '@selvedge/protocol'
import type { Plan } from '../engine.ts'
import type { ImageConfig } from './image-config.ts'

/** An image with more volumes is refused. */
const maxVolumes = 16

export const shortHash = (text: string): string => hash('sha256', text, 'hex').slice(0, 12)

interface Volume {
  /** In the engine. */
  readonly name: string
  /** Key of the data that it belongs to. */
  readonly dataKey: string
  /** Folder in the container. */
  readonly target: string
  readonly isReadOnly?: boolean
}

export interface Volumes {
  /** Of the settings `MCM.VOLUMES` and `MCM.APP_VOLUMES`. */
  readonly named: readonly Volume[]
  /** That the image declares, without those that the settings give a volume or memory. */
  readonly ofImage: readonly Volume[]
}

/** Folders that are in memory where the root is read-only. */
export const memoryFolders = ['/run', '/tmp', '/var/run', '/var/tmp'] as const

const withoutSlash = (path: string): string => path.replace(/\/$/, '')

/** A path without the folders `.` and `..`. */
const isPlain = (path: string): boolean => /^(?:\/[\w.-]+)+$/.test(path) && !/\/\.\.?(?:\/|$)/.test(path)

/** @throws RpcError `container_failed` for a folder that can't be a volume */
export function volumesOf(plan: Plan, { config }: ImageConfig, owner: string): Volumes {
  const nameIn = (dataKey: string, name: string) => `selvedge-${owner}-${shortHash(dataKey)}-${name}`
  const { settings, dataKey: ownKey, sharedDataKey: sharedKey } = plan
  const wanted = [
    ...usedVolumes(settings['MCM.VOLUMES']).map((each) => ({ ...each, dataKey: ownKey })),
    ...(sharedKey === undefined
      ? []
      : usedAppVolumes(settings['MCM.APP_VOLUMES']).map((each) => ({ ...each, dataKey: sharedKey }))),
  ]
  const named = wanted.map(({ name, dataKey, target: folder, isReadOnly }) => {
    const target = withoutSlash(folder)
    if (!isPlain(target) || isReservedFolder(target))
      throw new RpcError(
        'container_failed',
        `MCM.VOLUMES has the folder ${JSON.stringify(target)}, which can't be a volume`,
      )
    return { name: nameIn(dataKey, name), dataKey, target, isReadOnly }
  })
  const inMemory = settings['MCM.TMPFS'].map((each) => withoutSlash(each.split(':')[0]!))
  const reserved = inMemory.find(isReservedFolder)
  if (reserved !== undefined)
    throw new RpcError(
      'container_failed',
      `MCM.TMPFS has the folder ${JSON.stringify(reserved)}, which can't be in memory`,
    )
  const given = [
    ...inMemory,
    ...named.map(({ target }) => target),
    ...(settings['MCM.ROOT'] === 'read-only' ? memoryFolders : []),
  ]
  const declared = [...new Set(Object.keys(config?.Volumes ?? {}).map(withoutSlash))]
  const others = declared.filter((each) => !given.includes(each))
  const wrong = others.find((each) => !isPlain(each) || isReservedFolder(each))
  if (wrong !== undefined || others.length > maxVolumes) {
    const why =
      wrong === undefined ? `${others.length} volumes` : `the volume ${JSON.stringify(wrong.slice(0, 80))}`
    throw new RpcError('container_failed', `the image declares ${why}, which is not supported`, {
      hint: 'Build the image without VOLUME, and give it folders that last with MCM.VOLUMES.',
    })
  }
  // No name in MCM.VOLUMES has a dot.
  const ofImage = others.map((target) => {
    return { name: nameIn(ownKey, `image.${shortHash(target)}`), dataKey: ownKey, target }
  })
  const shared = named.filter(({ dataKey }) => dataKey === sharedKey).map(({ target }) => target)
  expectNothingBelow(shared, [...given, ...others])
  return { named, ofImage }
}

/** Another member could put a link in the place of a folder there, before the engine mounts something on it. The plan of an app has no image. */
function expectNothingBelow(shared: readonly string[], targets: readonly string[]): void {
  for (const folder of shared) {
    const below = targets.find((each) => each.startsWith(`${folder}/`))
    if (below !== undefined)
      throw new RpcError(
        'container_failed',
        `services share the volume at ${JSON.stringify(folder)}, and a volume of the image, or memory, would be in it at ${JSON.stringify(below)}`,
        { hint: 'Choose another path for the shared volume.' },
      )
  }
}
