/** What the runtime of a state folder has running as functions, as the system shows it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Folder of the sockets of a runtime, with one folder for each instance. @param runtimeState folder of the runtime itself */
export const socketFolder = (runtimeState: string): string =>
  readFileSync(join(runtimeState, 'function-sockets'), 'utf8')

/** The same, of a stack's state folder. */
export const instanceFolder = (state: string): string => socketFolder(join(state, 'runtime'))

/** What a file of `/proc` says of each process that has not ended meanwhile. */
function* readProcesses(file: 'cmdline' | 'stat'): Generator<readonly [pid: number, text: string]> {
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      yield [Number(entry), readFileSync(`/proc/${entry}/${file}`, 'latin1')]
    } catch {
      // It exited since the folder was read.
    }
  }
}

/** Processes with a path below a folder in their command line. */
export const processesOf = (folder: string): number[] =>
  [...readProcesses('cmdline')].filter(([, text]) => text.includes(`${folder}/`)).map(([pid]) => pid)

/** Everything that a process started, and what that started in turn. */
export function descendantsOf(ancestor: number): number[] {
  const children = new Map<number, number[]>()
  for (const [pid, text] of readProcesses('stat')) {
    // The name in parentheses may have anything in it; after it come the state and the parent.
    const parent = Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1])
    children.set(parent, [...(children.get(parent) ?? []), pid])
  }
  const below = (pid: number): number[] => (children.get(pid) ?? []).flatMap((each) => [each, ...below(each)])
  return below(ancestor)
}
