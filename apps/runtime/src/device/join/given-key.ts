/** The join key that a person gave to the runtime while it ran: stored until the device has an account, or the key is refused. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writeOnce } from '@selvedge/service-kit/store'

export interface GivenKey {
  /** Where it is stored, with mode 0600. */
  readonly path: string
  /** @throws NodeJS.ErrnoException when the disk fails */
  store(key: string): Promise<void>
  /** Does nothing if no key is stored. @throws NodeJS.ErrnoException when the disk fails */
  remove(): Promise<void>
}

/** @param folder of the runtime */
export function openGivenKey(folder: string): GivenKey {
  const path = join(folder, 'join-key')
  return {
    path,
    store: (key) => writeOnce(path, `${key}\n`),
    remove: () => rm(path, { force: true }),
  }
}
