/** Kill, start, cut: a process that is killed leaves names that are seen and not yet safe, and the next one finds them. */
import type { State } from './disk/disk.ts'
import { StrictDisk } from './disk/strict.ts'
import type { Operation } from './recorder/operations.ts'
import type { Subject, Work } from './subject.ts'

/** What a process finds after one that was killed, while the machine went on. */
export function leftBy(operations: readonly Operation[]): State {
  const disk = new StrictDisk()
  for (const each of operations) if (each.kind !== 'failed sync') disk.apply(each)
  return disk.cut(() => 'kept')
}

/** Positions of the syncs of folders: right before each, a kill leaves names that are not safe. */
export function killsOf({ recording }: Work): number[] {
  const folders = new Set<number>()
  return [...recording.operations.entries()].flatMap(([position, each]) => {
    if (each.kind === 'link' && each.type === 'folder') folders.add(each.inode)
    return each.kind === 'sync' && each.inode !== undefined && folders.has(each.inode) ? [position] : []
  })
}

/** The position right before the sync after a file got its name. @throws Error where it never got it */
function killAfterNaming({ recording }: Work, name: string): number {
  const named = recording.operations.findIndex((each) => each.kind === 'rename' && each.to.name === name)
  const position = recording.operations.findIndex((each, at) => at > named && each.kind === 'sync')
  if (named < 0 || position < 0) throw new Error(`nothing was named ${name}`)
  return position
}

/** The work up to a kill. @param position of the first operation that is not done any more */
export function killedAt({ recording, steps }: Work, position: number): Work {
  const operations = recording.operations.slice(0, position)
  const last = operations.at(-1)?.at ?? -1
  return {
    recording: { operations, files: new Map(leftBy(operations).files) },
    steps: steps.filter(({ answered }) => answered <= last),
  }
}

const recorded = new Map<string, Promise<Work>>()

/** What a program does, recorded by the first call for it. */
export function recordOnce(subject: Subject): Promise<Work> {
  const work = recorded.get(subject.name) ?? subject.record()
  recorded.set(subject.name, work)
  return work
}

/** The work of a program until it gave a file its name, and was killed. */
export async function lifeUntil(subject: Subject, named: string): Promise<Work> {
  const work = await recordOnce(subject)
  return killedAt(work, killAfterNaming(work, named))
}
