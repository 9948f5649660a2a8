/**
 * Ends a program together with the runtime where the system does not (Linux does: PR_SET_PDEATHSIG). The program's parent holds one end of
 * a pipe, and a shell beside the program the other. A pipe that closes without a line means that the runtime was killed.
 */
import type { ChildProcess } from 'node:child_process'
import type { Writable } from 'node:stream'
import { safely } from '@selvedge/service-kit/safely'

/** Descriptor of the shell's end. */
export const lifelineDescriptor = 3

/** For the shell that becomes the program: `$$` is its process ID in the process beside it, too. */
export const lifelineScript = `(read -r line <&${lifelineDescriptor} || kill -KILL $$) >/dev/null 2>&1 & exec ${lifelineDescriptor}<&-;`

/** Releases the shell beside a program once the program has exited, so that it kills no later process with the same ID. */
export function releaseLifeline(child: ChildProcess): void {
  // Without a free descriptor nothing was started, and there is no list.
  const pipe = (child.stdio as ChildProcess['stdio'] | undefined)?.[lifelineDescriptor] as
    | Writable
    | null
    | undefined
  // The shell may have been killed first.
  pipe?.on('error', () => pipe.destroy())
  child.once(
    'exit',
    safely('function.lifeline', () => void pipe?.end('exited\n', () => pipe.destroy())),
  )
}
