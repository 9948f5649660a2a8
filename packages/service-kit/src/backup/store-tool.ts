/**
 * Backup and restore of a daemon's SQLite store: the program behind `selvedge admin store backup` and `restore`. The command line
 * opens the file of the backup, so this program may run as the user of the daemon and needs no right to the folder of the file.
 */
import { existsSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { version } from '@selvedge/protocol'
import { systemClock } from '../clock/clock.ts'
import {
  ConfigError,
  type ConfigOf,
  loadConfig,
  type Option,
  type Options,
  readConfigFile,
} from '../config/index.ts'
import { writeNote } from '../log/index.ts'
import { takeLock } from '../store/folder-lock.ts'
import { type Migrations, stepsOf } from '../store/sql.ts'
import { openStateFolder } from '../store/state-folder.ts'
import { StoreError } from '../store/store-error.ts'
import {
  expectEnd,
  extractMember,
  type Manifest,
  type MemberName,
  readManifest,
  writeBackup,
} from './backup-file.ts'
import { noteBackup } from './last-backup.ts'
import { draftPath, ownerOf, takeSnapshot } from './snapshot.ts'
import { swapIn } from './swap.ts'
import { openRestored } from './verify.ts'

type StoreOptions = Options & { readonly state: Option<string>; readonly store: Option<string> }

/** What a restored database is prepared with. */
interface Restoring {
  /** File with the keys that encrypt its secrets; undefined if they are not in the state folder. */
  readonly keyFile: string | undefined
  /** The database that is replaced; undefined if no database can be read there. */
  readonly replaced: DatabaseSync | undefined
  /** Unix milliseconds. */
  readonly now: number
}

export interface StoreOwner<Table extends StoreOptions> {
  readonly name: 'identity' | 'discovery'
  readonly options: Table
  readonly migrations: Migrations
  /** Name of the database in the folder of the daemon. */
  readonly database: string
  /** The file with the keys that encrypt secrets, if it is in the folder of the daemon; then it is a part of the backup. */
  readonly keyFile?: (config: ConfigOf<Table>, folder: string) => string | undefined
  /** Checks and changes the database of a backup. @throws StoreError when it cannot be used */
  readonly prepare?: (
    database: DatabaseSync,
    config: ConfigOf<Table>,
    restoring: Restoring,
  ) => Promise<void> | void
}

interface Place {
  readonly state: string
  readonly folder: string
  readonly database: string
  readonly lock: string
  readonly keyFile: string | undefined
}

/** File descriptors that the command line opens: the backup, and a pipe for the result as JSON. */
const backupDescriptor = { backup: 1, restore: 0 } as const
const resultDescriptor = 3

/**
 * Runs the action that the first argument of the program names: `backup`, `restore`, or `note`, which notes that a backup was made at
 * the time of the second argument, in Unix milliseconds.
 */
export async function runStoreTool<const Table extends StoreOptions>(
  owner: StoreOwner<Table>,
): Promise<void> {
  const [, , action, time] = process.argv
  try {
    process.umask(0o077)
    const config = loadConfig(owner.options, {
      argv: [],
      env: process.env,
      file: readConfigFile(process.env.SELVEDGE_CONFIG, owner.name),
    })
    const { state } = config as ConfigOf<StoreOptions>
    becomeOwner(join(state, owner.name))
    const result =
      action === 'note' ? await note(state, owner.name, Number(time)) : await use(owner, config, action)
    writeSync(resultDescriptor, JSON.stringify(result))
  } catch (cause) {
    const isForeseen = cause instanceof StoreError || cause instanceof ConfigError
    writeNote(isForeseen ? cause.message : String((cause as Error).message))
    process.exit(1)
  }
}

async function use<Table extends StoreOptions>(
  owner: StoreOwner<Table>,
  config: ConfigOf<Table>,
  action: string | undefined,
) {
  const place = placeOf(owner, config)
  return action === 'restore' ? restore(owner, config, place) : backup(owner, place)
}

/** The folder may be missing if the store is PostgreSQL. */
async function note(state: string, service: string, at: number) {
  openStateFolder(state, service, writeNote)
  await noteBackup(join(state, service), at)
  return { service, madeAt: new Date(at).toISOString() }
}

function placeOf<Table extends StoreOptions>(owner: StoreOwner<Table>, config: ConfigOf<Table>): Place {
  const { state, store } = config as ConfigOf<StoreOptions>
  const folder = join(state, owner.name)
  if (store !== '' && !store.startsWith('sqlite:'))
    throw new ConfigError(
      `the store of the ${owner.name} service is PostgreSQL. Back it up while the service runs: pg_dump --format=custom ` +
        `--file=<file> ${dumpOptions(store)}, and then: selvedge-admin store note-backup --service ${owner.name}. ` +
        'Restore it into an empty database with pg_restore. Keep the keys that encrypt secrets with it: the file "secret-keys", or SELVEDGE_IDENTITY_KEYS',
    )
  return {
    state,
    folder,
    database: store === '' ? join(folder, owner.database) : store.slice('sqlite:'.length),
    lock: join(folder, 'lock'),
    keyFile: owner.keyFile?.(config, folder),
  }
}

/** The options of pg_dump for the URL of a store. The password is not one of them: other users can read arguments. */
function dumpOptions(store: string): string {
  if (!URL.canParse(store)) return '<database>'
  const { hostname, port, username, pathname } = new URL(store)
  const options = { host: hostname, port, username: decodeURIComponent(username) }
  const given = Object.entries(options).filter(([, value]) => value !== '')
  return [...given.map(([name, value]) => `--${name}=${value}`), pathname.slice(1)].join(' ')
}

/** Runs work that writes a file. @throws StoreError that names the file if its disk is full: the error of the system has no path */
function writing<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    const code = String((cause as NodeJS.ErrnoException).code)
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw cause
    throw new StoreError(
      `${path} cannot be written: the disk is full (${code}). Free space on it, or use another disk`,
      { cause },
    )
  }
}

/** Root continues as the user of the daemon: files that root makes in the state folder could not be opened by the daemon. */
function becomeOwner(folder: string): void {
  const { uid, gid } = ownerOf(folder)
  const own = process.getuid?.() ?? uid
  if (own === uid) return
  if (own !== 0)
    throw new ConfigError(`${folder} belongs to user ${uid}. Run the command as that user, or as root`)
  process.setgroups?.([])
  process.setgid?.(gid)
  process.setuid?.(uid)
}

async function backup<Table extends StoreOptions>(owner: StoreOwner<Table>, place: Place) {
  const madeAt = systemClock.now()
  const draft = draftPath(dirname(place.database))
  try {
    const { tables } = takeSnapshot(place.database, draft, place.lock, stepsOf(owner.migrations).length)
    const members: { name: MemberName; path: string }[] = [{ name: 'database', path: draft }]
    if (place.keyFile !== undefined) {
      expectKeyFile(place.keyFile)
      members.push({ name: 'secret-keys', path: place.keyFile })
    }
    const about = { service: owner.name, version, madeAt, tables }
    const file = process.env.SELVEDGE_BACKUP_FILE || 'the file of the backup'
    return describe(writing(file, () => writeBackup(backupDescriptor.backup, about, members)))
  } finally {
    rmSync(draft, { force: true })
  }
}

/** A backup without the keys would be useless, which is noticed only when it is needed. */
function expectKeyFile(path: string): void {
  if (existsSync(path)) return
  throw new ConfigError(
    `there is no file ${path} with the keys that encrypt secrets. If the service gets them from its environment or from ` +
      'another file, set SELVEDGE_IDENTITY_KEYS or SELVEDGE_CONFIG for this command as for the service',
  )
}

const describe = ({ service, version: madeBy, madeAt, members }: Manifest) => ({
  service,
  version: madeBy,
  madeAt: new Date(madeAt).toISOString(),
  databaseBytes: members.find(({ name }) => name === 'database')!.bytes,
  hasKeys: members.some(({ name }) => name === 'secret-keys'),
})

async function restore<Table extends StoreOptions>(
  owner: StoreOwner<Table>,
  config: ConfigOf<Table>,
  place: Place,
) {
  const now = systemClock.now()
  const manifest = readManifest(backupDescriptor.restore)
  if (manifest.service !== owner.name)
    throw new StoreError(
      `the backup is of the ${manifest.service} service: add --service ${manifest.service}`,
    )
  if (now < manifest.madeAt)
    throw new StoreError(
      `the backup was made at ${new Date(manifest.madeAt).toISOString()}, and the clock of this machine is behind that. Set the clock first: ` +
        'revocations are ordered by numbers that begin at the present time',
    )
  openStateFolder(place.state, owner.name, writeNote)
  const release = takeLock(
    place.lock,
    `the ${owner.name} service runs on ${place.state}: stop it before its store is restored`,
  )
  const drafts = draftsOf(manifest, place)
  try {
    for (const { draft } of drafts) removeDatabase(draft)
    for (const { member, draft } of drafts)
      writing(draft, () => extractMember(backupDescriptor.restore, member, draft))
    expectEnd(backupDescriptor.restore)
    await prepareDrafts(owner, config, place, { drafts, now })
    const suffix = `.before-restore-${new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
    const previous = writing(place.folder, () => swapIn(place.folder, drafts, suffix))
    return { ...describe(manifest), previous }
  } finally {
    for (const { draft } of drafts) removeDatabase(draft)
    release()
  }
}

interface Draft {
  readonly member: Manifest['members'][number]
  readonly draft: string
  readonly path: string
}

/** Beside the files that they replace, so that a rename is enough. */
function draftsOf({ members }: Manifest, { database, keyFile }: Place): Draft[] {
  return members.map((member) => {
    const path = member.name === 'database' ? database : keyFile
    if (path === undefined)
      throw new StoreError(
        'the backup contains the keys that encrypt secrets, and the configuration names another place for them: ' +
          'remove secrets.keyFile and SELVEDGE_IDENTITY_KEYS for the restored service, or restore into another state folder',
      )
    return { member, path, draft: `${path}.restored` }
  })
}

const removeDatabase = (path: string) => {
  for (const companion of ['', '-wal', '-shm', '-journal']) rmSync(path + companion, { force: true })
}

async function prepareDrafts<Table extends StoreOptions>(
  owner: StoreOwner<Table>,
  config: ConfigOf<Table>,
  place: Place,
  { drafts, now }: { drafts: readonly Draft[]; now: number },
): Promise<void> {
  const draftOf = (name: MemberName) => drafts.find(({ member }) => member.name === name)?.draft
  const database = openRestored(draftOf('database')!, owner.migrations)
  const replaced = openReplaced(place.database)
  try {
    await owner.prepare?.(database, config, {
      keyFile: draftOf('secret-keys') ?? place.keyFile,
      replaced,
      now,
    })
  } finally {
    replaced?.close()
    // This writes its log into the file.
    database.close()
  }
}

function openReplaced(path: string): DatabaseSync | undefined {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  try {
    return new DatabaseSync(path, { readOnly: true })
  } catch {
    return undefined
  }
}
