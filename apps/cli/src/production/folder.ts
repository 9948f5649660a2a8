/** The state folder of a machine: who may read it, who owns it, whether there are backups, and how full its disk is. */
import { existsSync, lstatSync, readFileSync, statfsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Check, failed, fixable, passed } from './check.ts'
import type { Section } from './settings.ts'

const minFreeBytes = 1 << 30
const maxBackupDays = 7
/** Distinct bytes of a key below which it was typed by a person, and not drawn at random. */
const minDistinctBytes = 12

export function checkFolder(state: string, now: number): readonly Check[] {
  const services = servicesIn(state)
  return [
    checkModes(state),
    checkOwner(state, services),
    checkSpace(state),
    ...services.filter((service) => service !== 'runtime').map((service) => checkBackup(state, service, now)),
    ...(services.includes('identity') ? checkKeys(state) : []),
  ]
}

/** Services that store something in a state folder. */
export function servicesIn(state: string): Section[] {
  const sections = ['runtime', 'identity', 'discovery'] as const
  return sections.filter((name) => lstatSync(join(state, name), { throwIfNoEntry: false })?.isDirectory())
}

/** The mode of the folder decides: behind a private one, no other user reaches a file, whatever its mode. */
function checkModes(state: string): Check {
  const { mode } = lstatSync(state)
  if ((mode & 0o077) === 0) return passed('state', `${state} is private`)
  return fixable('state', `${state} is open to other users (mode 0${(mode & 0o7777).toString(8)})`, [
    ...['chmod', '700', resolve(state)],
  ])
}

function checkOwner(state: string, services: readonly Section[]): Check {
  const { uid } = lstatSync(state)
  if (uid !== 0) return passed('user', `user ${uid} owns ${state}`)
  return failed(
    'user',
    `${services.join(', ') || 'the service'} in ${state} runs as root`,
    'Run it as a user of its own, as the packages do: a mistake in it then cannot change the system.',
  )
}

function checkSpace(state: string): Check {
  const { bavail, bsize } = statfsSync(state)
  const free = bavail * bsize
  const detail = `${(free / 1e9).toFixed(1)} GB are free on the disk of ${state}`
  return free >= minFreeBytes
    ? passed('disk', detail)
    : fixable(
        'disk',
        `${detail}; a full disk refuses changes, and 1 GB or more has to be free`,
        ['apt-get', 'clean'],
        'What needs the most: sudo du -xh --max-depth=3 / | sort -h | tail -n 20',
        'Old lines of the journal: sudo journalctl --vacuum-size=100M. Images that no service uses: selvedge image list, selvedge image remove <name>',
      )
}

function checkBackup(state: string, service: Section, now: number): Check {
  const command = `selvedge admin store backup <file>${service === 'identity' ? '' : ` --service ${service}`}`
  const fix = [
    command,
    'Run it every day, and store the file on another machine. After a backup by another tool: selvedge admin store note-backup',
  ]
  const database = service === 'identity' ? 'identity.db' : 'locations.db'
  if (!existsSync(join(state, service, database)))
    return passed(
      'backup',
      `${service}: no SQLite store in ${state}; back up its database with the database's own tools`,
    )
  const last = readTime(join(state, service, 'last-backup'))
  if (last === undefined) return failed('backup', `${service}: the store was never backed up`, ...fix)
  const days = (now - last) / 86_400_000
  const detail = `${service}: the last backup was made at ${new Date(last).toISOString()}`
  return days <= maxBackupDays ? passed('backup', detail) : failed('backup', detail, ...fix)
}

/** Time in a file that a backup writes. */
function readTime(path: string): number | undefined {
  try {
    const time = Date.parse(readFileSync(path, 'utf8').slice(0, 40).trim())
    return Number.isNaN(time) ? undefined : time
  } catch {
    return undefined
  }
}

/** Keys from an example, or typed by a person. */
function checkKeys(state: string): readonly Check[] {
  const path = join(state, 'identity', 'secret-keys')
  let lines: string[]
  try {
    lines = readFileSync(path, 'utf8').split(/\s+/).filter(Boolean)
  } catch {
    return []
  }
  const isWeak = (line: string) => new Set(Buffer.from(line, 'base64url')).size < minDistinctBytes
  // The first line encrypts what is new; the others are for what was encrypted before.
  if (lines[0] === undefined || !isWeak(lines[0]))
    return [passed('keys', 'the key that encrypts new secrets is random')]
  const whole = resolve(path)
  return [
    failed(
      'keys',
      `${path} has a key that is not random`,
      // The file keeps its owner.
      `Put a random one before it: umask 077 && (openssl rand -base64 32 | tr '+/' '-_' | tr -d '='; cat ${whole}) > ${whole}.new && cat ${whole}.new > ${whole} && rm ${whole}.new`,
      'Then restart the service.',
    ),
  ]
}
