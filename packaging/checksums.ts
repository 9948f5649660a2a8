import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

export const checksumsName = 'SHA256SUMS'
/** The file that signs the others, of a version. */
export const signedName = (version: string): string => `selvedge-${version}.release.json`

const isListed = (name: string): boolean => name !== checksumsName && !name.endsWith('.release.json')

/** @returns a line for each file below the folder, as `sha256sum` writes and checks them */
export const checksumsOf = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => isListed(name) && statSync(join(folder, name)).isFile())
    .toSorted()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex')}  ${name}\n`,
    )
    .join('')
