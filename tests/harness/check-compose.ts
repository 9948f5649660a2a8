/** Compose files in a folder of a test. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Checked, checkCompose } from '../../apps/cli/src/compose/check-compose.ts'
import { temporaryFolder } from './processes.ts'

export interface Options {
  readonly profiles?: readonly string[]
  readonly envFiles?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly paths?: readonly string[]
  /** Called with the folder before the file is read. */
  readonly prepare?: (folder: string) => void
}

/**
 * Checks the Compose file of a folder.
 *
 * @param files content by path; a text alone is that of `compose.yaml`
 */
export const check = (
  files: string | Readonly<Record<string, string | Buffer>>,
  { profiles = [], envFiles = [], env = {}, paths = [], prepare }: Options = {},
): Promise<Checked> =>
  inComposeFolder(files, (app) => {
    prepare?.(app)
    return checkCompose({ cwd: app, paths, profiles, envFiles, env, name: undefined })
  })

/**
 * Writes files into a folder that is there while `work` runs.
 *
 * @param work gets the path of the folder
 */
export async function inComposeFolder<T>(
  files: string | Readonly<Record<string, string | Buffer>>,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = await temporaryFolder()
  try {
    const app = join(folder.path, 'app')
    const all = typeof files === 'string' ? { 'compose.yaml': files } : files
    for (const [path, content] of Object.entries({ 'compose.yaml': '', ...all })) {
      mkdirSync(dirname(join(app, path)), { recursive: true })
      writeFileSync(join(app, path), content)
    }
    return await work(app)
  } finally {
    await folder.remove()
  }
}

/** Problems as people see them. */
export const problemsOf = ({ problems }: Checked): string[] =>
  problems.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`)

export const notesOf = ({ notes }: Checked): string[] =>
  notes.map(({ path, message }) => `${path}: ${message}`)

/** The only service of a plan. */
export function serviceOf(checked: Checked) {
  if (!checked.plan) throw new Error(`no plan: ${problemsOf(checked).join('\n')}`)
  return checked.plan.services[0]!
}
