/** A folder that is made when something is first written to it: no start of the runtime writes to the disk for it. */
import { readdir } from 'node:fs/promises'
import { makeFolder } from '@selvedge/service-kit/store'

export interface LateFolder {
  /** Names in the folder; empty if it was never made. @throws NodeJS.ErrnoException */
  names(): Promise<string[]>
  /** To be called before each write. Its name is on the disk then. @throws NodeJS.ErrnoException */
  make(): void
}

export function createLateFolder(path: string): LateFolder {
  let isMade = false
  return {
    async names() {
      try {
        return await readdir(path)
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return []
        throw cause
      }
    },
    make() {
      if (isMade) return
      makeFolder(path)
      isMade = true
    },
  }
}
