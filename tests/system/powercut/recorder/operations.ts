/**
 * What system calls did to the files below one folder, in terms of inodes and names: what a disk sees. Everything else is left
 * out, but for the answers that the program sent over sockets and pipes, which stand in the same order.
 */
import { relative, resolve } from 'node:path'
import { bytesOf, descriptorOf, type SystemCall, textOf } from './calls.ts'
import { LiveTree, type NodeType, type Place } from './live-tree.ts'

/** A moment of the recording: the line at which strace saw a call return. */
interface Moment {
  readonly at: number
}

export type DataOperation = Moment &
  (
    | { readonly kind: 'write'; readonly inode: number; readonly offset: number; readonly data: Buffer }
    | { readonly kind: 'truncate'; readonly inode: number; readonly size: number }
  )
export type NameOperation = Moment &
  (
    | {
        readonly kind: 'link'
        readonly to: Place
        readonly inode: number
        readonly type: NodeType
        /** Of a symbolic link: it is part of its inode, so it is there whenever the name is. */
        readonly target?: string
      }
    | { readonly kind: 'unlink'; readonly from: Place; readonly inode: number }
    | {
        readonly kind: 'rename'
        readonly from: Place
        readonly to: Place
        readonly inode: number
        /** The file that had the name before. */
        readonly replaced: number | undefined
      }
  )
/** Covers what had returned before it was entered. */
export interface Sync extends Moment {
  /** Undefined: everything. */
  readonly inode: number | undefined
  readonly entered: number
  readonly dataOnly: boolean
}
export type Operation =
  | DataOperation
  | NameOperation
  | (Sync & { readonly kind: 'sync' })
  /** The system forgets what it covers: a later sync does not write it. */
  | (Sync & { readonly kind: 'failed sync' })
  /** Bytes that left the program. @property to the socket or pipe, as strace describes it */
  | (Moment & { readonly kind: 'answer'; readonly to: string; readonly data: Buffer })

/** Calls that change files in a way that is not modelled: a recording with one below the folder is refused. */
const notModelled = new Set(['copy_file_range', 'splice', 'sendfile', 'io_uring_setup'])
const writes = new Set(['write', 'pwrite64', 'writev', 'pwritev', 'pwritev2', 'sendto', 'sendmsg'])

/** Where an open file is written next; the threads of a process share it. */
interface OpenFile {
  readonly inode: number
  readonly appends: boolean
  position: number
}

export interface Recording {
  readonly operations: readonly Operation[]
  /** The files as the program saw them at the end, by their path below the folder. */
  readonly files: ReadonlyMap<string, Buffer>
}

/**
 * @param folder absolute path; when the recording began it held what the earlier operations made. Relative paths begin there
 * @param earlier what an earlier process did, until it was killed: the recording begins with it
 * @throws Error where a call is not modelled
 */
export function readOperations(
  calls: readonly SystemCall[],
  folder: string,
  earlier: readonly Operation[] = [],
): Recording {
  const reader = new OperationReader(folder)
  for (const each of earlier) {
    reader.tree.replay(each)
    reader.operations.push(each)
  }
  const first = (earlier.at(-1)?.at ?? -1) + 1
  for (const call of [...calls].sort((one, two) => one.returned - two.returned))
    reader.take({ ...call, entered: first + call.entered, returned: first + call.returned })
  return { operations: reader.operations, files: reader.tree.files() }
}

class OperationReader {
  readonly tree = new LiveTree()
  readonly operations: Operation[] = []
  readonly #folder: string
  readonly #open = new Map<string, OpenFile>()
  /** Where relative paths begin, by process. */
  readonly #currents = new Map<number, string>()
  /** The process of a thread, where strace saw it begin. */
  readonly #processes = new Map<number, number>()

  constructor(folder: string) {
    this.#folder = folder
  }

  take(call: SystemCall): void {
    const { name, args } = call
    if (/^clone3?$/.test(name)) {
      if (args.some((each) => each.includes('CLONE_THREAD')))
        this.#processes.set(call.result, this.#processOf(call.pid))
    } else if (/^(openat|open|creat)$/.test(name)) this.#takeOpen(call)
    else if (writes.has(name)) this.#takeWrite(call)
    else if (/^(f?truncate|fallocate)$/.test(name)) this.#takeTruncate(call)
    else if (/^(fsync|fdatasync|syncfs|sync)$/.test(name)) this.#takeSync(call)
    else if (name === 'lseek') this.#takeSeek(call)
    else if (name === 'bind') this.#takeSocket(call)
    else if (name === 'chdir')
      this.#currents.set(this.#processOf(call.pid), this.#resolve(call, '', args[0] ?? ''))
    else if (/^symlink/.test(name)) this.#takeSymlink(call)
    else if (/^(mkdir|rename|link|unlink|rmdir)/.test(name)) this.#takeName(call)
    else if (notModelled.has(name) && args.some((each) => textOf(each).includes(`${this.#folder}/`)))
      throw new Error(`${name} is not modelled: ${args.map(textOf).join(', ')}`)
  }

  #processOf(pid: number): number {
    return this.#processes.get(pid) ?? pid
  }

  /** @param folder descriptor that the path begins at, or '' for the current folder */
  #resolve({ pid }: SystemCall, folder: string, path: string): string {
    const current = this.#currents.get(this.#processOf(pid)) ?? this.#folder
    return resolve(folder === '' ? current : descriptorOf(folder).path, bytesOf(path).toString())
  }

  /** Below the folder, or undefined. */
  #below(path: string): string | undefined {
    const found = relative(this.#folder, path)
    return found.startsWith('..') || found.startsWith('/') ? undefined : found
  }

  #takeOpen(call: SystemCall): void {
    const { name, args, returned: at } = call
    const [folder, file = '', flags = ''] = name === 'openat' ? args : ['', ...args]
    const asked = this.#resolve(call, folder ?? '', file)
    const path = this.#below(call.resultPath ?? asked)
    if (path === undefined) return
    let inode = this.tree.find(path)
    if (inode === undefined && /O_CREAT/.test(flags)) {
      const to = this.tree.placeOf(path)
      inode = this.tree.create(to, 'file')
      this.operations.push({ kind: 'link', at, to, inode, type: 'file' })
    }
    if (inode === undefined) throw new Error(`${path} was opened, but nothing made it`)
    if (/O_TRUNC/.test(flags)) this.#change({ kind: 'truncate', at, inode, size: 0 })
    this.#open.set(`${this.#processOf(call.pid)} ${call.result}`, {
      inode,
      appends: /O_APPEND/.test(flags),
      position: 0,
    })
  }

  #change(operation: DataOperation): void {
    if (operation.kind === 'truncate' && this.tree.sizeOf(operation.inode) === operation.size) return
    this.operations.push(operation)
    this.tree.apply(operation)
  }

  /** The file behind a descriptor; undefined where it is not below the folder, or has no name any more. */
  #fileOf({ pid }: SystemCall, argument: string): OpenFile | undefined {
    const { fd, path: written } = descriptorOf(argument)
    const path = this.#below(written)
    if (!written.startsWith('/') || path === undefined || written.endsWith(' (deleted)')) return undefined
    const inode = this.tree.find(path)
    if (inode === undefined) throw new Error(`${path} was used, but nothing made it`)
    const known = this.#open.get(`${this.#processOf(pid)} ${fd}`)
    if (known?.inode !== inode)
      throw new Error(`descriptor ${fd} of ${path} was opened by a call that strace did not see`)
    return known
  }

  #takeWrite(call: SystemCall): void {
    const { name, args, result, returned: at } = call
    const data = bytesOf(args[1] ?? '').subarray(0, result)
    const to = descriptorOf(args[0] ?? '').path
    if (/^(TCP|UNIX|pipe|socket)/.test(to)) {
      // It is the entry that counts: from then on a reader may have read it.
      this.operations.push({ kind: 'answer', at, to, data })
      return
    }
    const file = this.#fileOf(call, args[0] ?? '')
    if (!file) return
    if (data.length !== result) throw new Error(`strace shows ${data.length} of ${result} written bytes`)
    const isPlaced = name.startsWith('pwrite')
    const end = this.tree.sizeOf(file.inode)
    const offset = isPlaced ? Number(args[name === 'pwrite64' ? 3 : 3]) : file.appends ? end : file.position
    if (!isPlaced) file.position = offset + data.length
    this.#change({ kind: 'write', at, inode: file.inode, offset, data })
  }

  #takeTruncate(call: SystemCall): void {
    const { name, args, returned: at } = call
    if (name === 'truncate') throw new Error('truncate of a path is not modelled')
    const file = this.#fileOf(call, args[0] ?? '')
    if (!file) return
    const size = name === 'ftruncate' ? Number(args[1]) : Number(args[2]) + Number(args[3])
    if (name === 'fallocate' && (args[1] !== '0' || size <= this.tree.sizeOf(file.inode))) {
      if (args[1] === '0' || args[1] === 'FALLOC_FL_KEEP_SIZE') return
      throw new Error(`fallocate of mode ${args[1]} is not modelled`)
    }
    this.#change({ kind: 'truncate', at, inode: file.inode, size })
  }

  #takeSync(call: SystemCall): void {
    const { name, args, result, entered, returned: at } = call
    if (name === 'sync' || name === 'syncfs') {
      this.operations.push({ kind: 'sync', at, entered, inode: undefined, dataOnly: false })
      return
    }
    const path = this.#below(descriptorOf(args[0] ?? '').path)
    const inode = path === undefined ? undefined : this.tree.find(path)
    if (inode === undefined) return
    const kind = result < 0 ? 'failed sync' : 'sync'
    this.operations.push({ kind, at, entered, inode, dataOnly: name === 'fdatasync' })
  }

  #takeSeek(call: SystemCall): void {
    const file = this.#open.get(`${this.#processOf(call.pid)} ${descriptorOf(call.args[0] ?? '').fd}`)
    if (file) file.position = call.result
  }

  /** The name of a Unix socket stays on the disk when its program ends without removing it. */
  #takeSocket({ args, returned: at }: SystemCall): void {
    const [, name = ''] = /sun_path="([^"]*)"/.exec(args[1] ?? '') ?? []
    const path = name === '' ? undefined : this.#below(textOf(name))
    if (path === undefined) return
    const to = this.tree.placeOf(path)
    this.operations.push({ kind: 'link', at, to, inode: this.tree.create(to, 'socket'), type: 'socket' })
  }

  #takeSymlink(call: SystemCall): void {
    const [target = '', ...where] = call.args
    const [folder, path] = call.name === 'symlinkat' ? where : ['', where[0]]
    const below = this.#below(this.#resolve(call, folder ?? '', path ?? ''))
    if (below === undefined) return
    const to = this.tree.placeOf(below)
    this.operations.push({
      ...{ kind: 'link', at: call.returned, to, inode: this.tree.create(to, 'symlink'), type: 'symlink' },
      target: bytesOf(target).toString(),
    })
  }

  #takeName(call: SystemCall): void {
    const { name, args, returned: at } = call
    const paths = this.#pathsOf(call)
    const [first, second] = paths.map((each) => (each === undefined ? undefined : this.tree.placeOf(each)))
    if (/^(rename|link)/.test(name)) {
      if (!first && !second) return
      if (!first || !second || /RENAME_(?!NOREPLACE)/.test(args[4] ?? ''))
        throw new Error(`${name} across the folder is not modelled`)
      const inode = this.tree.inodeAt(first)
      const replaced = this.tree.lookUp(second)
      this.tree.link(second, inode)
      if (name.startsWith('link')) this.operations.push({ kind: 'link', at, to: second, inode, type: 'file' })
      else {
        this.tree.unlink(first)
        this.operations.push({ kind: 'rename', at, from: first, to: second, inode, replaced })
      }
    } else if (first && name.startsWith('mkdir')) {
      const inode = this.tree.create(first, 'folder')
      this.operations.push({ kind: 'link', at, to: first, inode, type: 'folder' })
    } else if (first) {
      const inode = this.tree.inodeAt(first)
      this.tree.unlink(first)
      this.operations.push({ kind: 'unlink', at, from: first, inode })
    }
  }

  /** The paths of a call about names; `…at` calls have a descriptor of the folder before each. */
  #pathsOf(call: SystemCall): (string | undefined)[] {
    const { name, args } = call
    const isAt = /at2?$/.test(name)
    const count = /^(rename|link)/.test(name) ? 2 : 1
    return Array.from({ length: count }, (_, at) => {
      const [folder, file] = isAt ? args.slice(at * 2, at * 2 + 2) : ['', args[at]]
      return this.#below(this.#resolve(call, folder ?? '', file ?? ''))
    })
  }
}
