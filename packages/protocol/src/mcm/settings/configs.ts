/** Files of an app that one of its members gets. */
import { isFolder, isReservedFolder } from './files.ts'
import { listOf, withoutRepeats } from './lists.ts'

/** A file that a container gets, read-only. */
export interface UsedConfig {
  /** SHA-256 of its content, in hexadecimal digits. */
  readonly digest: string
  /** In the container. */
  readonly target: string
  /** Permissions, such as 0o444. */
  readonly mode: number
  /** User and group in the container that it belongs to. */
  readonly uid: number
  readonly gid: number
}

/** Permissions of a file of an app: octal digits, without those that change the user of a program. */
export const configModePattern = /^0[0-7]{3}$/

/** Users and groups that a file may belong to: as many as a container has. */
export const maxConfigId = 65_535

/** Files of one container, and folders with such files. */
const maxConfigs = { files: 64, folders: 16 } as const

const configPattern = /^[0-9a-f]{64}:\/[^:]+:0[0-7]{3}:\d{1,5}:\d{1,5}$/

export const configText = ({ digest, target, mode, uid, gid }: UsedConfig): string =>
  [digest, target, `0${mode.toString(8).padStart(3, '0')}`, uid, gid].join(':')

/** The files of the setting `MCM.CONFIGS`, in its order. */
export const usedConfigs = (texts: readonly string[]): UsedConfig[] =>
  texts.map((text) => {
    const [digest = '', target = '', mode = '', uid, gid] = text.split(':')
    return { digest, target, mode: Number.parseInt(mode, 8), uid: Number(uid), gid: Number(gid) }
  })

export function readConfigs(text: string): readonly string[] | undefined {
  const configs = listOf(configPattern, text)
  if (!configs || configs.length > maxConfigs.files) return undefined
  const used = usedConfigs(configs)
  const isSound = used.every(
    ({ target, uid, gid }) =>
      isFolder(target) && !isReservedFolder(target) && uid <= maxConfigId && gid <= maxConfigId,
  )
  return isSound && withoutRepeats(used.map(({ target }) => target)) ? configs : undefined
}

export const isInFolder = (path: string, folder: string): boolean => path.startsWith(`${folder}/`)

export function readConfigFolders(text: string): readonly string[] | undefined {
  const folders = listOf(/^\/[^:]+$/, text)
  if (!folders || folders.length > maxConfigs.folders) return undefined
  const isSound = folders.every(
    (each) => isFolder(each) && !isReservedFolder(each) && !folders.some((other) => isInFolder(each, other)),
  )
  return isSound && withoutRepeats(folders) ? folders : undefined
}
