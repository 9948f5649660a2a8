import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, fstatSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { command, type Input } from '../../command.ts'
import type { Context } from '../../context/context.ts'
import type { ServiceName } from '../../context/services.ts'
import { reasonOf, UsageError, withPath } from '../../failure.ts'
import { installedProgram, nodeOfPrograms } from '../../installed.ts'
import { unitEnv } from '../../production/installed-service.ts'

/** What the program of a service reports of a backup. */
interface Backup {
  readonly service: ServiceName
  /** Version of the program that made it. */
  readonly version: string
  /** Everything that was acknowledged before this time is in it. */
  readonly madeAt: string
  readonly databaseBytes: number
  /** Whether the keys that encrypt secrets are in it. */
  readonly hasKeys: boolean
}

interface Restored extends Backup {
  /** Where the files of before are. */
  readonly previous: readonly string[]
}

const serviceOption = {
  flags: '--service <name>',
  description: 'service with the store: identity (the default) or discovery',
} as const

export const adminStoreBackup = command({
  path: ['admin', 'store', 'backup'],
  summary: 'Write a consistent backup of a SQLite store to a new file, while the service runs.',
  args: [{ name: '<file>', description: 'file to create; an existing one is never overwritten' }],
  options: [serviceOption],
  run: async (context, { args, options }) => {
    const file = resolve(args[0]!)
    const service = readService(options)
    if (existsSync(file)) throw alreadyExists(file)
    const draft = join(dirname(file), `.${basename(file)}.${randomUUID()}.draft`)
    const target = openNew(draft)
    try {
      const own = { SELVEDGE_BACKUP_FILE: file }
      const made = runProgram<Backup>(context, service, ['backup'], ['ignore', target], own)
      syncNew(target, file)
      publish(draft, file)
      // Only now: a backup that could not get its name is removed again.
      return { file, ...made, noted: tryNote(context, service, made.madeAt) }
    } finally {
      closeSync(target)
      rmSync(draft, { force: true })
    }
  },
  human: (made) =>
    [
      ...(made.noted
        ? []
        : [
            'The time of the backup could not be noted: "selvedge doctor" and the metrics show an earlier one.',
          ]),
      `${made.file}: the store of the ${made.service} service as of ${made.madeAt}, ${made.databaseBytes} bytes of database.`,
      made.service === 'identity' && !made.hasKeys
        ? 'The keys that encrypt its secrets are NOT in the file, because the configuration names another place for them. Back them up as well: without them the backup is useless.'
        : 'The file contains all secrets of the service. Only you can read it: store it in a safe place.',
    ].join('\n'),
})

export const adminStoreNoteBackup = command({
  path: ['admin', 'store', 'note-backup'],
  summary:
    'Note that a backup was made now by another tool, such as pg_dump, for "selvedge doctor --production" and the metrics.',
  options: [serviceOption],
  run: async (context, { options }) => note(context, readService(options), context.now() * 1000),
  human: ({ service, madeAt }) => `Noted: the last backup of the ${service} service was made at ${madeAt}.`,
})

export const adminStoreRestore = command({
  path: ['admin', 'store', 'restore'],
  summary: 'Put a backup in the place of the store of a stopped service. The present store stays beside it.',
  args: [{ name: '<file>', description: 'backup from "selvedge admin store backup"' }],
  options: [
    serviceOption,
    {
      flags: '--revoke-all',
      description:
        'identity: revoke every token and sign-in of all accounts, because some may have been revoked after the backup',
    },
  ],
  run: async (context, { args, options }) => {
    const file = resolve(args[0]!)
    const service = readService(options)
    const source = openExisting(file)
    const env = { SELVEDGE_RESTORE_REVOKE_ALL: options.revokeAll ? '1' : '' }
    try {
      const restored = runProgram<Restored>(context, service, ['restore'], [source, 'ignore'], env)
      return { file, ...restored, revokedAll: options.revokeAll === true }
    } finally {
      closeSync(source)
    }
  },
  human: (restored) =>
    [
      `The store of the ${restored.service} service is as of ${restored.madeAt}. Start the service.`,
      ...restored.previous.map((path) => `The file of before is ${path}`),
      ...(restored.service === 'identity' ? lostSince(restored.madeAt, restored.revokedAll) : []),
    ].join('\n'),
})

/** What a person has to know of the time between the backup and the restore. */
const lostSince = (madeAt: string, revokedAll: boolean): string[] => [
  'Sessions of the console, links, enrolment codes and waiting sign-ins were removed: they may have been used after the backup.',
  revokedAll
    ? 'Every token and sign-in was revoked: create new developer ID tokens, and sign in again.'
    : `Tokens that were revoked, people who were removed and nodes that were blocked after ${madeAt} are not in the backup. ` +
      'Devices that know of a revoked token refuse it for another day. If there were any, repeat it, or restore again with --revoke-all.',
]

function readService({ service = 'identity' }: Input['options']): ServiceName {
  if (service === 'identity' || service === 'discovery') return service
  throw new UsageError(`--service is ${JSON.stringify(service)}`, 'It is identity or discovery.')
}

interface Noted {
  readonly service: ServiceName
  readonly madeAt: string
}

const note = (context: Context, service: ServiceName, at: number): Noted =>
  runProgram<Noted>(context, service, ['note', String(Math.round(at))], ['ignore', 'ignore'])

/** The backup is complete, whether or not its time can be noted. */
function tryNote(context: Context, service: ServiceName, madeAt: string): boolean {
  try {
    note(context, service, Date.parse(madeAt))
    return true
  } catch {
    return false
  }
}

/** Runs the program of a service. @param streams its standard input and output; @returns what it reports */
function runProgram<T>(
  { selection, state }: Context,
  service: ServiceName,
  action: readonly ['backup' | 'restore'] | readonly ['note', at: string],
  [input, output]: readonly ('ignore' | number)[],
  more: Readonly<Record<string, string>> = {},
): T {
  const named = { ...selection().env, ...(state.isNamed && { SELVEDGE_STATE: resolve(state.path) }) }
  const serviceEnv = unitEnv(service, named)
  const { status, output: written } = spawnSync(
    nodeOfPrograms(),
    [installedProgram(`${service}/dist/store-backup.cjs`), ...action],
    {
      env: { ...serviceEnv, ...more },
      stdio: [input, output, 'pipe', 'pipe'],
      encoding: 'utf8',
    },
  )
  const [, , errors = '', result = ''] = written ?? []
  if (status !== 0) throw new Error((errors ?? '').trim() || `the ${action[0]} failed`)
  return JSON.parse(result ?? '') as T
}

const alreadyExists = (file: string): UsageError =>
  new UsageError(`${file} exists already`, 'Choose another name: a backup is never overwritten.')

function openNew(draft: string): number {
  try {
    return openSync(draft, 'wx', 0o600)
  } catch (cause) {
    throw new UsageError(
      `can't create a file in ${dirname(draft)}: ${reasonOf(cause)}`,
      'Name a file in a folder that exists and that you may write to.',
    )
  }
}

/** @throws NodeJS.ErrnoException with the path of the backup */
function syncNew(target: number, file: string): void {
  try {
    fsyncSync(target)
  } catch (cause) {
    throw withPath(cause, file)
  }
}

function openExisting(file: string): number {
  let source: number
  try {
    source = openSync(file, 'r')
  } catch (cause) {
    throw new UsageError(`can't read ${file}: ${reasonOf(cause)}`, 'Name the file of a backup.')
  }
  if (fstatSync(source).isFile()) return source
  closeSync(source)
  throw new UsageError(`${file} is not a file`, 'Name the file of a backup.')
}

/** Gives the complete file its name, unless something has that name by now. */
function publish(draft: string, file: string): void {
  try {
    linkSync(draft, file)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'EEXIST') throw alreadyExists(file)
    // A file system without links, such as FAT.
    if (existsSync(file)) throw alreadyExists(file)
    renameSync(draft, file)
  }
  const folder = openSync(dirname(file), 'r')
  fsyncSync(folder)
  closeSync(folder)
}
