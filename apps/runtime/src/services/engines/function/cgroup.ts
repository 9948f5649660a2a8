/** Limits by the kernel: one control group an instance, of version 2 or 1, where this process may make one. */
import { accessSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { inBackground } from '@selvedge/service-kit/safely'
import { makeTransientFolder } from '@selvedge/service-kit/store'

interface CgroupLimits {
  readonly memoryBytes: number
  readonly cpus: number
  readonly pids: number
}

export interface Cgroup {
  /** Files that a process writes its id into to be held. */
  readonly joinFiles: readonly string[]
  /** Bytes in use, without what the kernel could drop at once. */
  memory(): number | null
  /** Whether the kernel killed a process that passed the memory limit. */
  wasOutOfMemory(): boolean
  /** Ends every process in it and removes it. */
  remove(): Promise<void>
}

export interface Cgroups {
  readonly version: 1 | 2
  create(name: string, limits: CgroupLimits): Cgroup
  /** Ends and removes what an earlier run left. */
  removeAll(): Promise<void>
  /** Removes the group of all groups, once it is empty. */
  close(): Promise<void>
}

const root = '/sys/fs/cgroup'
const periodMicroseconds = 100_000
const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Shown if there are no control groups, or this process may not make any. */
const absent = new Set(['ENOENT', 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EOPNOTSUPP'])

/**
 * @param folder name of the group that holds all groups of this runtime
 * @returns undefined where the kernel has none, or this process may not make any
 * @throws Error if they are there and fail, as with no file descriptor left
 */
export function openCgroups(folder: string): Cgroups | undefined {
  try {
    // Not existsSync: it reports every failure as an absence.
    accessSync(root)
    const isVersion2 = statSync(join(root, 'cgroup.controllers'), { throwIfNoEntry: false }) !== undefined
    return isVersion2 ? openVersion2(folder) : openVersion1(folder)
  } catch (cause) {
    if (absent.has((cause as NodeJS.ErrnoException).code ?? '')) return undefined
    throw cause
  }
}

/** The group of this process under a controller ("" for version 2), such as `/system.slice/selvedge.service`. */
function ownGroup(controller: string): string | undefined {
  const lines = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n')
  const found = lines
    .map((line) => line.split(':'))
    .find(([, names = '']) => names.split(',').includes(controller))
  return found?.slice(2).join(':')
}

function openVersion1(folder: string): Cgroups {
  const parents = ['memory', 'cpu', 'pids'].map((controller) => {
    const parent = join(root, controller, ownGroup(controller) ?? '/', folder)
    makeTransientFolder(parent)
    return parent
  })
  const [memory, cpu, pids] = parents as [string, string, string]
  return {
    version: 1,
    create(name, limits) {
      const folders = parents.map((parent) => join(parent, name))
      makeGroups(folders, () => {
        writeFileSync(join(memory, name, 'memory.limit_in_bytes'), String(limits.memoryBytes))
        writeFileSync(join(cpu, name, 'cpu.cfs_period_us'), String(periodMicroseconds))
        writeFileSync(
          join(cpu, name, 'cpu.cfs_quota_us'),
          String(Math.round(limits.cpus * periodMicroseconds)),
        )
        writeFileSync(join(pids, name, 'pids.max'), String(limits.pids))
      })
      return {
        joinFiles: folders.map((each) => join(each, 'cgroup.procs')),
        memory: () => numberIn(join(memory, name, 'memory.stat'), 'total_rss'),
        wasOutOfMemory: () => /oom_kill [1-9]/.test(read(join(memory, name, 'memory.oom_control'))),
        remove: () => removeGroups(folders),
      }
    },
    removeAll: () => removeChildren(parents),
    close: () => removeGroups(parents),
  }
}

function openVersion2(folder: string): Cgroups {
  const own = join(root, ownGroup('') ?? '/')
  const parent = join(own, folder)
  makeTransientFolder(parent)
  try {
    writeFileSync(join(own, 'cgroup.subtree_control'), '+memory +cpu +pids')
  } catch {
    // A group with processes can't have limited children ("no internal processes"): this process moves into a leaf.
    const leaf = join(own, `${folder}-runtime`)
    makeTransientFolder(leaf)
    writeFileSync(join(leaf, 'cgroup.procs'), String(process.pid))
    writeFileSync(join(own, 'cgroup.subtree_control'), '+memory +cpu +pids')
  }
  writeFileSync(join(parent, 'cgroup.subtree_control'), '+memory +cpu +pids')
  return {
    version: 2,
    create(name, limits) {
      const group = join(parent, name)
      makeGroups([group], () => {
        writeFileSync(join(group, 'memory.max'), String(limits.memoryBytes))
        writeFileSync(
          join(group, 'cpu.max'),
          `${Math.round(limits.cpus * periodMicroseconds)} ${periodMicroseconds}`,
        )
        writeFileSync(join(group, 'pids.max'), String(limits.pids))
      })
      return {
        joinFiles: [join(group, 'cgroup.procs')],
        memory: () => numberIn(join(group, 'memory.stat'), 'anon'),
        wasOutOfMemory: () => /oom_kill [1-9]/.test(read(join(group, 'memory.events'))),
        remove: () => removeGroups([group]),
      }
    },
    removeAll: () => removeChildren([parent]),
    close: () => removeGroups([parent]),
  }
}

/** Makes all groups with their limits, or no group. */
function makeGroups(folders: readonly string[], limit: () => void): void {
  try {
    for (const each of folders) makeTransientFolder(each)
    limit()
  } catch (cause) {
    inBackground('cgroup.remove', removeGroups(folders))
    // Not with the code of the cause: "no space" means too many groups here, and no full disk.
    throw new Error(`control groups fail: ${(cause as Error).message}`, { cause })
  }
}

/** The value of a line `<name> <number>`. */
function numberIn(path: string, name: string): number | null {
  const found = new RegExp(`^${name} (\\d+)$`, 'm').exec(read(path))?.[1]
  return found === undefined ? null : Number(found)
}

async function removeChildren(parents: readonly string[]): Promise<void> {
  const folders = parents.flatMap((parent) =>
    readdirSync(parent, { withFileTypes: true })
      .filter((each) => each.isDirectory())
      .map((each) => join(parent, each.name)),
  )
  await removeGroups(folders)
}

/** A group is removable once the last process in it is reaped, which needs a moment. */
async function removeGroups(folders: readonly string[], attempts = 50): Promise<void> {
  const left = folders.filter((folder) => {
    for (const pid of read(join(folder, 'cgroup.procs')).trim().split('\n')) {
      if (Number(pid) > 0) endProcess(Number(pid))
    }
    try {
      rmdirSync(folder)
      return false
    } catch (cause) {
      return (cause as NodeJS.ErrnoException).code !== 'ENOENT'
    }
  })
  if (left.length === 0 || attempts === 0) return
  await sleep(20)
  await removeGroups(left, attempts - 1)
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has exited by itself.
  }
}
