/** Folders, names and removal of the function's files. */
import { modeOf, type Options, optionsOf, pathOf } from './arguments.ts'
import { fileError } from './errors.ts'
import { Dirent } from './stats.ts'
import type { FileTree, FolderNode, Node, Place } from './tree.ts'

const noLinks = 'the files of a function have no links'

export function folderOperations(tree: FileTree) {
  return { ...making(tree), ...removing(tree), ...reading(tree) }
}

function making(tree: FileTree) {
  function makeFolder(path: string, mode: number, syscall: string): void {
    const place = tree.place(path, syscall)
    if (place.node !== undefined) throw fileError('EEXIST', syscall, { path })
    tree.make(place, 'folder', mode, path, syscall)
  }
  /** @returns the first folder that was made */
  function makeAll(path: string, mode: number): string | undefined {
    let made: string | undefined
    let at = ''
    for (const name of path.split('/')) {
      at += `${name}/`
      const node = findOr(tree, at, 'mkdir')
      if (node?.kind === 'file')
        throw fileError(at.length > path.length ? 'EEXIST' : 'ENOTDIR', 'mkdir', { path })
      if (node !== undefined) continue
      makeFolder(at, mode, 'mkdir')
      made ??= at.slice(0, -1)
    }
    return made
  }
  return {
    mkdir(given: unknown, options: unknown) {
      const path = pathOf(given, 'mkdir')
      const { recursive, mode }: Options =
        typeof options === 'object' ? optionsOf(options) : { mode: options }
      if (recursive) return makeAll(path, modeOf(mode, 0o777))
      // A path that exists is refused as that, also where nothing can be made.
      if (findOr(tree, path, 'mkdir') !== undefined) throw fileError('EEXIST', 'mkdir', { path })
      makeFolder(path, modeOf(mode, 0o777), 'mkdir')
    },
    mkdtemp(prefix: unknown): string {
      const path = `${pathOf(prefix, 'mkdtemp')}${crypto.randomUUID().slice(0, 8)}`
      makeFolder(path, 0o700, 'mkdtemp')
      return path
    },
    symlink: (_: unknown, path: unknown) => refuseLink(path, 'symlink'),
    link: (_: unknown, path: unknown) => refuseLink(path, 'link'),
    readlink(given: unknown) {
      const path = pathOf(given, 'readlink')
      tree.find(path, 'readlink')
      throw fileError('EINVAL', 'readlink', { path, hint: noLinks })
    },
  }
}

function refuseLink(path: unknown, syscall: string): never {
  throw fileError('EPERM', syscall, { path: pathOf(path, syscall), hint: noLinks })
}

function findOr(tree: FileTree, path: string, syscall: string): Node | undefined {
  try {
    return tree.find(path, syscall)
  } catch (cause) {
    if ((cause as { code?: string }).code === 'ENOENT') return undefined
    throw cause
  }
}

function removing(tree: FileTree) {
  function place(path: string, syscall: string): Place & { readonly node: Node } {
    // What does not exist is said first.
    const node = tree.find(path, syscall)
    return { ...tree.place(path, syscall), node }
  }
  function removeAll(found: Place): void {
    const { node } = found
    if (node?.kind === 'folder')
      for (const [name, child] of node.children) removeAll({ folder: node, name, node: child })
    tree.remove(found)
  }
  return {
    unlink(given: unknown) {
      const path = pathOf(given, 'unlink')
      const found = place(path, 'unlink')
      if (found.node.kind === 'folder') throw fileError('EISDIR', 'unlink', { path })
      tree.remove(found)
    },
    rmdir(given: unknown) {
      const path = pathOf(given, 'rmdir')
      const found = place(path, 'rmdir')
      checkEmpty(found.node, path, 'rmdir')
      tree.remove(found)
    },
    rm(given: unknown, options: unknown) {
      const { recursive, force } = optionsOf(options)
      const path = pathOf(given, 'rm')
      if (force && findOr(tree, path, 'rm') === undefined) return
      const found = place(path, 'rm')
      if (found.node.kind === 'folder' && !recursive)
        throw Object.assign(fileError('EISDIR', 'rm', { path }), { code: 'ERR_FS_EISDIR' })
      removeAll(found)
    },
    rename(from: unknown, to: unknown) {
      const [path, dest] = [pathOf(from, 'rename'), pathOf(to, 'rename')]
      const [source, target] = [place(path, 'rename'), tree.place(dest, 'rename')]
      if (source.node === target.node) return
      if (source.node.kind === 'folder')
        checkMove(source.node, target, tree.limits.depth - depthOf(dest), { path, dest })
      if (target.node?.kind === 'folder') {
        if (source.node.kind === 'file') throw fileError('EISDIR', 'rename', { path, dest })
        checkEmpty(target.node, dest, 'rename')
      } else if (target.node && source.node.kind === 'folder')
        throw fileError('ENOTDIR', 'rename', { path, dest })
      tree.remove(target)
      tree.move(source, target)
    },
  }
}

function checkEmpty(node: Node, path: string, syscall: string): void {
  if (node.kind === 'file') throw fileError('ENOTDIR', syscall, { path })
  if (node.children.size > 0) throw fileError('ENOTEMPTY', syscall, { path })
}

const depthOf = (path: string): number => path.split('/').filter((name) => name !== '' && name !== '.').length

/** A folder is not moved into itself, and its folders are not deeper than others may be. */
function checkMove(
  folder: FolderNode,
  { folder: to }: Place,
  left: number,
  paths: { path: string; dest: string },
): void {
  const pending: [Node, number][] = [[folder, 0]]
  for (const [node, depth] of pending) {
    if (node === to) throw fileError('EINVAL', 'rename', paths)
    if (depth > left) throw fileError('ENAMETOOLONG', 'rename', paths)
    if (node.kind === 'folder') for (const child of node.children.values()) pending.push([child, depth + 1])
  }
}

function reading(tree: FileTree) {
  function list(
    path: string,
    isRecursive: boolean,
    below = '',
  ): { node: Node; name: string; parent: string }[] {
    const folder = tree.find(path, 'scandir')
    if (folder.kind === 'file') throw fileError('ENOTDIR', 'scandir', { path })
    return [...folder.children].flatMap(([name, node]) => [
      { node, name: below + name, parent: path },
      ...(isRecursive && node.kind === 'folder' ? list(`${path}/${name}`, true, `${below}${name}/`) : []),
    ])
  }
  return {
    readdir(given: unknown, options: unknown) {
      const { recursive = false, withFileTypes } = optionsOf(options)
      const found = list(pathOf(given, 'scandir'), recursive)
      if (!withFileTypes) return found.map(({ name }) => name)
      return found.map(({ node, name, parent }) => new Dirent(node, name.split('/').at(-1)!, parent))
    },
  }
}
