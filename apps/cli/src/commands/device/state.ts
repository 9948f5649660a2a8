/** The state folder of the device, as its own commands use it: files of this machine, without the runtime. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '../../context/context.ts'
import { serviceState } from '../../context/systemd.ts'
import { UsageError } from '../../failure.ts'

/**
 * The folder that was named, else the one of the clone, else the one of the service.
 *
 * @throws UsageError if it holds no device, or this user may not read it
 */
export function deviceState({ state }: Context): string {
  const path = state.isNamed || existsSync(join(state.path, 'runtime')) ? state.path : serviceState
  try {
    if (statSync(join(path, 'runtime')).isDirectory()) return path
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EACCES') throw notAllowed(path, cause)
  }
  throw new UsageError(
    `${path} holds no device`,
    'Name the state folder of the runtime with --state or SELVEDGE_STATE.',
  )
}

/** Runs a change of files. @throws UsageError if the system refuses it to this user */
export function changing<T>(path: string, change: () => T): T {
  try {
    return change()
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException
    throw code === 'EACCES' || code === 'EPERM' ? notAllowed(path, cause) : cause
  }
}

function notAllowed(path: string, cause: unknown): UsageError {
  const refused = new UsageError(
    `this user may not change ${path}`,
    'Run the same command as root (sudo), or as the user of the runtime.',
  )
  refused.cause = cause
  return refused
}

/** A state that the runtime set aside because it was of another machine. */
export interface SetAside {
  readonly id: string
  readonly path: string
  /** When, in ISO 8601. */
  readonly at: string
}

/** The newest first. */
export function listAside(state: string): SetAside[] {
  const above = join(state, 'set-aside')
  if (!existsSync(above)) return []
  const found = readdirSync(above).flatMap((id) => {
    const key = statSync(join(above, id, 'node-key.json'), { throwIfNoEntry: false })
    return key ? [{ id, path: join(above, id), at: key.ctime.toISOString() }] : []
  })
  return found.toSorted((a, b) => b.at.localeCompare(a.at))
}
