/** The time zone of the device, as containers get it. */
import { closeSync, openSync, readFileSync, readSync, realpathSync } from 'node:fs'

export interface LocalTime {
  /** Name in the time zone database, such as `Europe/Berlin`. */
  readonly zone: string
  /** Content of `/etc/localtime`, tzfile(5). */
  readonly rules: Buffer
}

/** Where a system has its time zone. */
export interface TimeFiles {
  readonly localtime: string
  readonly timezone: string
}

const systemFiles: TimeFiles = { localtime: '/etc/localtime', timezone: '/etc/timezone' }

/** Folder of the time zone database, below one that differs between systems. */
const database = '/zoneinfo/'

/** Bytes of the rules at most; the longest of the database has 3.6 kB. */
const maxRules = 64 * 1024
const magic = 'TZif'

/** A file with one zone without changes: its offset is 0, its abbreviation UTC. */
const utcRules = Buffer.from(
  `${magic}\0${'\0'.repeat(15 + 4 * 4)}\0\0\0\x01\0\0\0\x04\0\0\0\0\0\0UTC\0`,
  'latin1',
)
const utc: LocalTime = { zone: 'Etc/UTC', rules: utcRules }

/** @returns that of the device; UTC for a device without one, or with one that cannot be read. Never throws */
export function readLocalTime(files: TimeFiles = systemFiles): LocalTime {
  const rules = readStart(files.localtime)
  if (!rules || rules.length > maxRules || rules.toString('latin1', 0, magic.length) !== magic) return utc
  return { zone: zoneIn(files) ?? 'localtime', rules }
}

/** Systems have the name in a file, or as the target of a link into the database. */
function zoneIn({ localtime, timezone }: TimeFiles): string | undefined {
  const path = attempt(() => realpathSync(localtime)) ?? ''
  const at = path.lastIndexOf(database)
  const linked = at < 0 ? undefined : path.slice(at + database.length).replace(/^(?:posix|right)\//, '')
  const written = attempt(() => readFileSync(timezone, 'utf8').trim())
  return [written, linked].find((each) => each !== undefined && /^[A-Za-z][\w+/-]{0,63}$/.test(each))
}

/** One byte more than a file may have. */
function readStart(path: string): Buffer | undefined {
  return attempt(() => {
    const file = openSync(path, 'r')
    try {
      const content = Buffer.alloc(maxRules + 1)
      return Buffer.from(content.subarray(0, readSync(file, content, 0, content.length, 0)))
    } finally {
      closeSync(file)
    }
  })
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
