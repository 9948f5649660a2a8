/**
 * The files of apps: contents of `configs` of their plans, by digest, in a folder for each app. Containers name them in `MCM.CONFIGS`, so a
 * version of a container always gets the same files. They are on the disk before a document names them.
 */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import { makeFolder, writeOnce } from '@selvedge/service-kit/store'
import { keyOf } from '../deployments/ownership.ts'
import { appOf } from './member-names.ts'
import { type AppStore, ownerOf } from './stored-apps.ts'

export interface AppConfigs {
  /**
   * Resolves when all contents are on the disk.
   *
   * @param key of the app
   * @throws NodeJS.ErrnoException
   */
  store(key: string, contents: readonly Uint8Array[]): Promise<void>
  /** @throws RpcError `container_failed` for a content that is missing or damaged */
  read(key: string, digest: string): Buffer
  /** Removes the contents of an app but some. Never rejects: what is left is removed by the next call. */
  keepOnly(key: string, digests: ReadonlySet<string>): Promise<void>
  /** Removes what belongs to no app. Never rejects. @param keys of all apps */
  keepApps(keys: Iterable<string>): Promise<void>
}

/** The name of the folder of an app. */
export const folderOf = (key: string): string => hash('sha256', key, 'hex').slice(0, 32)

/** A file that a container of an app gets. @throws as `AppConfigs.read` */
export function readConfig(
  { value }: Pick<AppStore, 'value'>,
  configs: Pick<AppConfigs, 'read'>,
  containerKey: string,
  digest: string,
): Buffer {
  const app = appOf(value, containerKey)
  if (app) return configs.read(keyOf(ownerOf(app), app.name), digest)
  throw new RpcError('container_failed', 'it belongs to no app that has its files (MCM.CONFIGS)')
}

const configDigest = (content: Uint8Array): string => hash('sha256', content, 'hex')

/** @param folder of the files of all apps; it is made with the first file */
export function createAppConfigs(folder: string): AppConfigs {
  return {
    async store(key, contents) {
      if (contents.length === 0) return
      const own = join(folder, folderOf(key))
      makeFolder(own)
      const present = new Set(await readdir(own))
      for (const content of contents) {
        const digest = configDigest(content)
        if (present.has(digest) && isWhole(join(own, digest), digest)) continue
        await writeOnce(join(own, digest), content)
      }
    },
    read(key, digest) {
      const found = readIfThere(join(folder, folderOf(key), digest))
      if (found && configDigest(found) === digest) return found
      throw new RpcError('container_failed', 'a file of its app is missing or damaged (MCM.CONFIGS)', {
        hint: 'Deploy the app again.',
      })
    },
    async keepOnly(key, digests) {
      const own = join(folder, folderOf(key))
      if (digests.size === 0) return removePath(own)
      for (const name of await namesIn(own)) if (!digests.has(name)) await removePath(join(own, name))
    },
    async keepApps(keys) {
      const known = new Set([...keys].map(folderOf))
      for (const name of await namesIn(folder)) if (!known.has(name)) await removePath(join(folder, name))
    },
  }
}

const isWhole = (path: string, digest: string): boolean => {
  const found = readIfThere(path)
  return found !== undefined && configDigest(found) === digest
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

export const namesIn = (path: string): Promise<string[]> => readdir(path).catch(() => [])
export const removePath = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true }).catch(() => undefined)
