/**
 * Finds devices of the Container Device Interface in the folders of the device. Only files that root, or the user of the runtime, alone can change
 * are read: they decide what containers get.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { type HeldPath, holdPath } from '../held-path.ts'
import { type CdiDevice, type CdiFile, readCdiFile } from './cdi-spec.ts'
import { readText } from './read-text.ts'

/** Files of one folder that are read, and bytes of each. */
const maxFiles = 64
const maxFileBytes = 1024 * 1024
/** Names and problems in a message. */
const maxShown = 10

/** Why a container does not get a device: for a person. */
export class CdiRefused extends Error {
  override readonly name = 'CdiRefused'
  /** Whether no file has the device at present. */
  readonly isMissing: boolean
  constructor(message: string, isMissing = false) {
    super(message)
    this.isMissing = isMissing
  }
}

/** What the files of one folder have. */
interface CdiFolder {
  readonly files: readonly CdiFile[]
  /** Why files are not used, with their paths. */
  readonly problems: readonly string[]
}

/**
 * @param name such as `vendor.com/class=name`
 * @param folders a later one counts more
 * @throws CdiRefused
 */
export const findCdiDevice = async (name: string, folders: readonly string[]): Promise<CdiDevice> =>
  search(name, folders, await readFolders(folders))

function search(name: string, folders: readonly string[], read: readonly CdiFolder[]): CdiDevice {
  for (const { files } of read.toReversed()) {
    const [file, other] = files.filter(({ names }) => names.includes(name))
    if (other) throw new CdiRefused('two files have a device of this name')
    if (file) return deviceOf(file, name)
  }
  const names = read.flatMap(({ files }) => files.flatMap((each) => each.names))
  const problems = read.flatMap((each) => each.problems)
  const there = names.length === 0 ? 'no devices' : shown([...new Set(names)].toSorted())
  const others = problems.length === 0 ? '' : `; ${shown(problems)}`
  throw new CdiRefused(`${folders.join(' and ')} have ${there}${others}`, true)
}

/** @returns which of the devices cannot be given, each with the reason: for everyone, so without other names and files of the device */
export async function missingCdiDevices(
  names: readonly string[],
  folders: readonly string[],
): Promise<string[]> {
  if (names.length === 0) return []
  const read = await readFolders(folders)
  return [...new Set(names)].flatMap((name) => {
    try {
      search(name, folders, read)
      return []
    } catch (cause) {
      if (!(cause instanceof CdiRefused)) throw cause
      const why = cause.isMissing ? `no file in ${folders.join(' or ')} has it` : cause.message
      return [`${name}: ${why}`]
    }
  })
}

const shown = (texts: readonly string[]): string =>
  `${texts.slice(0, maxShown).join(', ')}${texts.length > maxShown ? ' …' : ''}`

function deviceOf(file: CdiFile, name: string): CdiDevice {
  try {
    return file.deviceOf(name)
  } catch (cause) {
    throw new CdiRefused((cause as Error).message)
  }
}

async function readFolders(folders: readonly string[]): Promise<CdiFolder[]> {
  const read: CdiFolder[] = []
  for (const each of folders) read.push(await readFolder(each))
  return read
}

async function readFolder(folder: string): Promise<CdiFolder> {
  const files: CdiFile[] = []
  const problems: string[] = []
  for (const name of namesIn(folder)) {
    // Other work continues between two files.
    await setImmediate()
    const path = join(folder, name)
    try {
      files.push(readCdiFile(await readText(readTrusted(path))))
    } catch (cause) {
      problems.push(`${path}: ${(cause as Error).message}`)
    }
  }
  return { files, problems }
}

function namesIn(folder: string): string[] {
  let names: string[] = []
  try {
    names = readdirSync(folder)
  } catch {
    // Without the folder there are no devices.
  }
  return names
    .filter((each) => /\.(?:json|ya?ml)$/.test(each))
    .toSorted()
    .slice(0, maxFiles)
}

/** @throws Error with the reason why the file is not read */
function readTrusted(path: string): string {
  if (path.endsWith('.yml')) throw new Error('no program reads this name; let it end in .yaml')
  const held = holdPath(path)
  try {
    const { stats } = held
    if (!stats.isFile()) throw new Error('it is not a file')
    if (!isTrusted(held)) throw new Error('others than root may change it')
    if (stats.size > maxFileBytes) throw new Error(`it has ${stats.size} bytes; the limit is ${maxFileBytes}`)
    return readFileSync(held.link, 'utf8')
  } finally {
    held.close()
  }
}

/** Whether only root and the user of the runtime change the file, and what is in its folder. */
function isTrusted(file: HeldPath): boolean {
  const folder = holdPath(join(file.path, '..'))
  try {
    return [file, folder].every(
      ({ stats: { uid, mode } }) => (uid === 0 || uid === process.getuid?.()) && (mode & 0o022) === 0,
    )
  } finally {
    folder.close()
  }
}
