/**
 * Runs a program under strace and writes down what it does to the files below a folder, and when it answers.
 *
 * strace sees the system calls themselves. A library that is loaded before libc's would not: Node's event loop and its thread
 * pool make some calls without libc's functions.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readCalls } from './calls.ts'
import { type Operation, type Recording, readOperations } from './operations.ts'

const calls = [
  ...['openat', 'open', 'creat', 'lseek', 'clone', 'clone3'],
  ...['write', 'pwrite64', 'writev', 'pwritev', 'pwritev2', 'sendto', 'sendmsg'],
  ...['truncate', 'ftruncate', 'fallocate', 'copy_file_range', 'sendfile', 'splice'],
  ...['fsync', 'fdatasync', 'sync', 'syncfs'],
  ...['rename', 'renameat', 'renameat2', 'link', 'linkat', 'symlink', 'symlinkat'],
  ...['unlink', 'unlinkat', 'mkdir', 'mkdirat', 'rmdir', 'bind', 'chdir'],
]

export interface Recorder {
  /** The program itself, not strace. */
  readonly process: ChildProcess
  /** To be called once the program has ended. @throws Error where the recording does not explain what is on the disk */
  read(): Promise<Recording>
}

/** Most bytes of a text that strace shows. */
const longest = 64 * 1024 * 1024

/**
 * @param folder what is recorded: absolute, not below a symbolic link; empty but for what the earlier process left
 * @param earlier what an earlier process did to the folder, until it was killed
 */
export function record(
  folder: string,
  command: readonly string[],
  options: SpawnOptions,
  earlier?: readonly Operation[],
): Recorder {
  const own = mkdtempSync(join(tmpdir(), 'powercut-trace-'))
  const trace = join(own, 'trace')
  const child = spawn(
    'strace',
    [
      // strace steps aside: the child of this process is the program, so signals and IPC reach it.
      '-D',
      ...['--follow-forks', '--seccomp-bpf', '-qqq', '--decode-fds=all', '-xx', '-e', 'signal=none'],
      ...['-s', String(longest), '-e', `trace=${calls.join(',')}`, '-o', trace, '--'],
      ...command,
    ],
    // Through a ring, libuv would write without system calls.
    { ...options, env: { ...options.env, UV_USE_IO_URING: '0' } },
  )
  return {
    process: child,
    async read() {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      const recording = readOperations(readCalls(await readWhole(trace)), folder, earlier)
      rmSync(own, { recursive: true })
      expectExplained(recording, folder)
      return recording
    },
  }
}

/** strace writes its last lines a moment after the program, and exits then. */
async function readWhole(trace: string): Promise<string> {
  while (isTraced(trace)) await sleep(50)
  return readFileSync(trace, 'latin1')
}

/** Whether a process has the path among its arguments, which only strace has. */
const isTraced = (trace: string): boolean =>
  readdirSync('/proc').some((pid) => /^\d+$/.test(pid) && argumentsOf(pid).includes(trace))

function argumentsOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    // It has exited meanwhile.
    return []
  }
}

/** Every byte on the disk has to be there because of a call that was seen: this finds what strace does not see, such as mapped memory. */
function expectExplained({ files }: Recording, folder: string): void {
  const found = readdirSync(folder, { withFileTypes: true, recursive: true })
    // Links to folders are followed; what is behind them has a path of its own.
    .filter((each) => each.isFile() && realpathSync(each.parentPath) === each.parentPath)
    .map((each) => join(each.parentPath, each.name).slice(folder.length + 1))
    .filter(isDurable)
  const expected = [...files.keys()].filter(isDurable)
  const odd = [...new Set([...found, ...expected])].filter(
    (path) =>
      !files.get(path)?.equals(found.includes(path) ? readFileSync(join(folder, path)) : Buffer.of(0)),
  )
  if (odd.length > 0) throw new Error(`the recording does not explain ${odd.join(', ')}`)
}

/** SQLite maps its index of the log into memory, and makes it anew after a cut. */
export const isDurable = (path: string): boolean => !path.endsWith('-shm')
