/**
 * Ties the state of a device to its machine. A state folder that wakes up on another machine, as a flashed copy does, is set aside,
 * and the device starts as a new node: two devices with one key would be one node for every service. Nothing is deleted, and
 * `selvedge device adopt` brings a node back on purpose.
 *
 * `machine.json` names the machine, and the folder for its state: `<state>/set-aside/<id>`. It is moved last, so that a move that was
 * interrupted is continued by the next start.
 */
import { randomUUID } from 'node:crypto'
import { lstatSync } from 'node:fs'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolder, moveContent, syncFolder, writeOnce } from '@selvedge/service-kit/store'
import * as z from 'zod'
import { isSameMachine, type Machine } from './this-machine.ts'

const tie = z.object({
  id: z.uuid(),
  hardware: z.string().optional(),
  system: z.string().optional(),
  /** Name of the folder of the state that was set aside when this one began. */
  replaces: z.uuid().optional(),
})
type Tie = z.infer<typeof tie>

const tieName = 'machine.json'
const lockName = 'lock'
const keyName = 'node-key.json'
/** Name of the empty file with which `selvedge device adopt` marks a set-aside folder. */
export const adoptMark = 'adopt'

/** What the start found. */
export interface Waking {
  /** Folder of the state that was set aside at this start; undefined if the state is of this machine. */
  readonly setAside?: string
  /** Folder of the state that was adopted at this start. */
  readonly adopted?: string
}

/**
 * To be called before anything in the folder is opened, with its lock held.
 *
 * @param folder of the runtime in the state folder
 * @throws NodeJS.ErrnoException when the disk fails; the next start continues
 */
export async function keepToMachine(folder: string, machine: Machine): Promise<Waking> {
  const known = await readTie(folder)
  const adopted = await findMarked(folder)
  if (adopted !== undefined) {
    if (known) await setAside(folder, known)
    await moveContent(adopted, folder, { but: [tieName, adoptMark] })
    // Before the new tie: with both, the next start would set aside what was just adopted.
    await rm(join(adopted, adoptMark))
    await syncFolder(adopted)
    await writeTie(folder, machine)
    return { adopted }
  }
  if (known && isSameMachine(known, machine)) {
    if (isNews(known, machine)) await writeOnce(join(folder, tieName), textOf({ ...known, ...machine }))
    return {}
  }
  const aside = known && (await setAside(folder, known))
  await writeTie(folder, machine, known?.id)
  return aside === undefined ? {} : { setAside: aside }
}

/** Whether the machine states more, or something else, than what is stored. */
const isNews = (known: Tie, { hardware = known.hardware, system = known.system }: Machine): boolean =>
  hardware !== known.hardware || system !== known.system

const writeTie = (folder: string, machine: Machine, replaces?: string): Promise<void> =>
  writeOnce(join(folder, tieName), textOf({ id: randomUUID(), ...machine, ...(replaces && { replaces }) }))

const textOf = (content: Tie): string => `${JSON.stringify(content)}\n`

/** Undefined without one that can be read: before the first start, and in a state of an earlier version. */
async function readTie(folder: string): Promise<Tie | undefined> {
  let content: string
  try {
    content = await readFile(join(folder, tieName), 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw cause
  }
  try {
    return tie.parse(JSON.parse(content))
  } catch {
    return undefined
  }
}

async function setAside(folder: string, { id }: Tie): Promise<string> {
  const aside = join(dirname(folder), 'set-aside', id)
  makeFolder(aside)
  await moveContent(folder, aside, { but: [lockName], last: tieName })
  return aside
}

/** The state that was set aside when the present one began, and when in Unix milliseconds; undefined without one, or where it was adopted since. */
export async function replacedBy(
  folder: string,
): Promise<{ readonly path: string; readonly at: number } | undefined> {
  const { replaces } = (await readTie(folder)) ?? {}
  if (replaces === undefined) return undefined
  const path = join(dirname(folder), 'set-aside', replaces)
  // A file gets this time when it is moved.
  const at = lstatSync(join(path, keyName), { throwIfNoEntry: false })?.ctimeMs
  return at === undefined ? undefined : { path, at }
}

/** The one folder that a person marked. A mark of another user than root or the owner of the state does not count. */
async function findMarked(folder: string): Promise<string | undefined> {
  const above = join(dirname(folder), 'set-aside')
  const { uid } = await stat(folder)
  const names = await readdir(above).catch(() => [])
  const marked = names.filter((name) => {
    const mark = lstatSync(join(above, name, adoptMark), { throwIfNoEntry: false })
    return mark?.isFile() === true && (mark.uid === uid || mark.uid === 0)
  })
  return marked.length === 1 ? join(above, marked[0]!) : undefined
}
