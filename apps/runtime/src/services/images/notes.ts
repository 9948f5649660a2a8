/**
 * Small files about work that a stop of the runtime may interrupt, for the next run. A file is named by the hash of its content: one that was
 * changed or cut short is removed, and its work is not continued.
 */
import { hash } from 'node:crypto'
import { lstat, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writeOnce } from '@selvedge/service-kit/store'
import type * as z from 'zod'
import { createLateFolder } from './late-folder.ts'

const maxBytes = 16 * 1024

export interface Note<T> {
  readonly value: T
  /** To be called when the work is complete or given up. */
  forget(): Promise<void>
}

export interface Notes<T> {
  /**
   * The notes of earlier runs, at most `maxNotes`. Every other name in the folder is removed.
   *
   * @param isOther whether a name is of another file, which stays
   */
  read(isOther?: (name: string) => boolean): Promise<Note<T>[]>
  /** The note survives a power cut when this resolves, and so do the names of all other files in the folder. @throws NodeJS.ErrnoException */
  put(value: T): Promise<Note<T>>
  /** To be called before another file is written to the folder. @throws NodeJS.ErrnoException */
  makeFolder(): void
}

/** @param folder is made by the first note */
export function createNotes<T>(folder: string, schema: z.ZodType<T>, maxNotes: number): Notes<T> {
  const late = createLateFolder(folder)
  const remove = (path: string) => rm(path, { recursive: true, force: true })

  async function readNote(name: string): Promise<Note<T> | undefined> {
    const path = join(folder, name)
    try {
      const found = await lstat(path)
      if (!found.isFile() || found.size > maxBytes) return undefined
      const text = await readFile(path, 'utf8')
      if (nameOf(text) !== name) return undefined
      return { value: schema.parse(JSON.parse(text)), forget: () => remove(path) }
    } catch {
      return undefined
    }
  }

  return {
    makeFolder: late.make,
    async read(isOther = () => false) {
      const notes: Note<T>[] = []
      for (const name of await late.names()) {
        if (isOther(name)) continue
        const note = notes.length < maxNotes ? await readNote(name) : undefined
        if (note) notes.push(note)
        else await remove(join(folder, name))
      }
      return notes
    },
    async put(value) {
      late.make()
      const text = JSON.stringify(value)
      const path = join(folder, nameOf(text))
      try {
        await writeOnce(path, text)
      } catch (cause) {
        // Its content may be there already.
        await remove(path).catch(() => undefined)
        throw cause
      }
      return { value, forget: () => remove(path) }
    },
  }
}

const nameOf = (text: string): string => hash('sha256', text, 'hex')
