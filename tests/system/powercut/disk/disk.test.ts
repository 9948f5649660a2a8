/** What each disk may leave, by hand: the machine is no better than these. */
import { describe, expect, it } from 'vitest'
import type { Operation } from '../recorder/operations.ts'
import type { Fate } from './content.ts'
import { createRandom, cutsOf } from './cuts.ts'
import { type Disk, identityOf, type Pending } from './disk.ts'
import { OrderedDisk } from './ordered.ts'
import { StrictDisk } from './strict.ts'

type Given<T> = T extends unknown ? Omit<T, 'at'> : never

/** A disk after operations, one moment each. */
function diskAfter(disk: Disk, operations: readonly Given<Operation>[]): Disk {
  for (const [at, operation] of operations.entries()) disk.apply({ ...operation, at } as Operation)
  return disk
}

const root = 0
const file = 1
const name = (text: string, inode = file, folder = root): Given<Operation> => ({
  kind: 'link',
  to: { folder, name: text },
  inode,
  type: 'file',
})
const folder = (text: string, inode: number): Given<Operation> => ({
  kind: 'link',
  to: { folder: root, name: text },
  inode,
  type: 'folder',
})
const write = (text: string, offset = 0, inode = file): Given<Operation> => ({
  kind: 'write',
  inode,
  offset,
  data: Buffer.from(text),
})
const rename = (
  from: string,
  to: string,
  replaced?: number,
  [first, second] = [root, root],
): Given<Operation> => ({
  kind: 'rename',
  from: { folder: first, name: from },
  to: { folder: second, name: to },
  inode: file,
  replaced,
})
const sync = (inode: number, entered: number, dataOnly = false): Given<Operation> => ({
  kind: 'sync',
  inode,
  entered,
  dataOnly,
})

const failedSync = (inode: number, entered: number): Given<Operation> => ({
  kind: 'failed sync',
  inode,
  entered,
  dataOnly: false,
})

const shown = (disk: Disk, fateOf: (pending: Pending) => Fate): Record<string, string> =>
  Object.fromEntries([...disk.cut(fateOf).files].map(([path, content]) => [path, content.toString()]))
const least = (disk: Disk) => shown(disk, () => 'lost')
const most = (disk: Disk) => shown(disk, () => 'kept')

const disks = [
  ['strict', () => new StrictDisk()],
  ['ordered', () => new OrderedDisk()],
] as const

describe.each(disks)('the %s disk', (_, make) => {
  it('may lose or keep all that was not synced', () => {
    const disk = diskAfter(make(), [name('a'), write('text')])
    expect([least(disk), most(disk)]).toEqual([{}, { a: 'text' }])
  })

  it('keeps what was synced with its name', () =>
    expect(least(diskAfter(make(), [name('a'), write('text'), sync(file, 2), sync(root, 3)]))).toEqual({
      a: 'text',
    }))

  it('does not count a write that came while a sync was under way', () =>
    expect(least(diskAfter(make(), [name('a'), sync(root, 1), write('text'), sync(file, 1)])).a).not.toBe(
      'text',
    ))

  it('tears what is written over old content at 512 bytes', () => {
    const [old, fresh] = ['o'.repeat(1536), 'n'.repeat(1536)]
    const disk = diskAfter(make(), [name('a'), write(old), sync(file, 2), sync(root, 3), write(fresh)])
    expect(shown(disk, () => (sector) => sector === 1).a).toBe(
      old.slice(0, 512) + fresh.slice(512, 1024) + old.slice(1024),
    )
  })

  it('takes one name for the other as a whole', () => {
    const disk = diskAfter(make(), [name('a'), write('1'), sync(file, 2), sync(root, 3), rename('a', 'b')])
    expect([least(disk), most(disk)]).toEqual([{ a: '1' }, { b: '1' }])
  })

  it('gives the same states for the same seed', () => {
    const identities = () => {
      const disk = diskAfter(make(), [name('a'), write('x'.repeat(9000)), write('y'.repeat(600), 100)])
      return [...cutsOf(disk, createRandom(1), 20)].map(({ state }) => identityOf(state))
    }
    expect(identities()).toEqual(identities())
    expect(new Set(identities()).size).toBeGreaterThan(5)
  })
})

describe('the strict disk', () => {
  it('may lose the name of a file that was synced, and all below a folder whose name was not', () => {
    expect(least(diskAfter(new StrictDisk(), [name('a'), write('1'), sync(file, 2)]))).toEqual({})
    const below = [folder('f', 2), name('a', file, 2), write('1'), sync(file, 3), sync(2, 4)]
    expect(least(diskAfter(new StrictDisk(), below))).toEqual({})
    expect(least(diskAfter(new StrictDisk(), [...below, sync(root, 5)]))).toEqual({ 'f/a': '1' })
  })

  it('may keep a new content without an old one, and a new name without its content', () => {
    const disk = diskAfter(new StrictDisk(), [
      name('a'),
      sync(root, 1),
      write('old'),
      write('new'),
      name('b'),
    ])
    const only = (at: number) => shown(disk, (each) => (each.at === at ? 'kept' : 'lost'))
    expect([only(2), only(3), only(4)]).toEqual([{ a: 'old' }, { a: 'new' }, { a: '', b: '' }])
  })

  it('may keep both names of a rename into another folder, and never none of them', () => {
    const operations = [folder('f', 2), name('a'), write('1'), sync(file, 3), sync(root, 4)]
    const disk = diskAfter(new StrictDisk(), [
      ...operations,
      rename('a', 'a', undefined, [root, 2]),
      sync(2, 6),
    ])
    expect([least(disk), most(disk)]).toEqual([{ a: '1', 'f/a': '1' }, { 'f/a': '1' }])
  })
})

it('the strict disk does not bring a name back that was synced and replaced after its rename', () => {
  const into = (inode: number): Given<Operation>[] => [
    { ...(rename('a', 'b', undefined, [2, root]) as object), inode } as Given<Operation>,
    { kind: 'sync', inode: root, entered: 99, dataOnly: false },
  ]
  const made = [folder('f', 2), name('a', 3, 2), name('a', 4, 2)]
  const disk = diskAfter(new StrictDisk(), [...made, ...into(3), ...into(4)])
  expect(disk.pending().map(({ kind }) => kind)).toEqual(['link', 'link', 'rename', 'rename'])
  disk.apply({ kind: 'write', at: 100, inode: 4, offset: 0, data: Buffer.from('new') })
  const kept = (fate: Pending) => (fate.kind === 'rename' && fate.at > 3 ? 'lost' : 'kept')
  expect(disk.cut(kept).files.get('b')?.toString()).toBe('new')
})

describe('a symbolic link', () => {
  it.each(disks)('on the %s disk is there with its target, or not at all', (_, make) => {
    const operations = [{ ...name('a', 5), type: 'symlink', target: 'b' } as Given<Operation>]
    const links = (fate: Fate) => [...diskAfter(make(), operations).cut(() => fate).links]
    expect([links('lost'), links('kept')]).toEqual([[], [['a', 'b']]])
  })
})

describe('the ordered disk', () => {
  it('keeps names in their order: with a later one all that came before', () => {
    const disk = diskAfter(new OrderedDisk(), [name('a'), name('b', 2), name('c', 3)])
    expect(shown(disk, (each) => (each.at === 1 ? 'lost' : 'kept'))).toEqual({ a: '' })
  })

  it('commits all names with the sync of any file, and none with the sync of data that did not grow', () => {
    const operations = [name('a'), write('1'), sync(file, 2), name('b', 2)]
    expect(least(diskAfter(new OrderedDisk(), [...operations, sync(file, 4)]))).toEqual({ a: '1', b: '' })
    const inPlace = [...operations, write('2'), sync(file, 5, true)]
    expect(least(diskAfter(new OrderedDisk(), inPlace))).toEqual({ a: '2' })
    const longer = [...operations, write('12'), sync(file, 5, true)]
    expect(least(diskAfter(new OrderedDisk(), longer))).toEqual({ a: '12', b: '' })
  })

  it('may leave an empty file under a new name, but not in place of another file', () => {
    const disk = diskAfter(new OrderedDisk(), [name('draft'), write('1'), rename('draft', 'key')])
    expect(shown(disk, (each) => (each.kind === 'write' ? 'lost' : 'kept'))).toEqual({ key: '' })
    const over = [name('key', 2), sync(root, 1), name('draft'), write('1'), rename('draft', 'key', 2)]
    expect(
      shown(diskAfter(new OrderedDisk(), over), (each) => (each.kind === 'write' ? 'lost' : 'kept')),
    ).toEqual({
      key: '1',
    })
  })

  it('lets a file grow from its start, in blocks', () => {
    const disk = diskAfter(new OrderedDisk(), [name('a'), write('x'.repeat(10_000))])
    expect(shown(disk, (each) => (each.kind === 'write' ? (at) => at < 1 : 'kept')).a).toHaveLength(4096)
    expect(shown(disk, (each) => (each.kind === 'write' ? (at) => at > 0 : 'kept')).a).toHaveLength(0)
  })
})

describe.each([
  ['strict', () => new StrictDisk()],
  ['ordered', () => new OrderedDisk()],
] as const)('after a sync that failed, the disk "%s"', (_, make) => {
  it('never gets the data that it covered, also with a later sync; what is written afterwards is safe with it', () => {
    const disk = diskAfter(make(), [
      name('f'),
      sync(root, 1),
      write('old'),
      failedSync(file, 3),
      sync(file, 4),
    ])
    expect(most(disk)).toEqual({ f: '' })
    const again = diskAfter(make(), [
      ...[name('f'), sync(root, 1), write('old'), failedSync(file, 3)],
      ...[write('new'), sync(file, 5)],
    ])
    expect(least(again)).toEqual({ f: 'new' })
  })

  it('never gets the names of the folder, also with a later sync', () => {
    const disk = diskAfter(make(), [
      name('f'),
      write('x'),
      sync(file, 0, true),
      failedSync(root, 3),
      sync(root, 4),
    ])
    expect(most(disk)).toEqual({})
  })

  it('keeps what came after the sync was entered', () => {
    const disk = diskAfter(make(), [name('f'), sync(root, 1), write('x'), failedSync(file, 2), sync(file, 4)])
    expect(least(disk)).toEqual({ f: 'x' })
  })
})
