/** What the runtime of a state folder has running as functions, as the system shows it. */
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sha256 } from './archives.ts'

/** Folder with one folder an instance. */
export const instanceFolder = (state: string): string =>
  join(tmpdir(), `selvedge-${sha256(join(state, 'runtime')).slice(0, 12)}`)

/** Process ids of everything that was started on a folder in it. */
export function instanceProcesses(state: string): string[] {
  try {
    const found = execFileSync('pgrep', ['-f', '--', `${instanceFolder(state)}/`], { encoding: 'utf8' })
    return found.trim().split('\n')
  } catch {
    return []
  }
}
