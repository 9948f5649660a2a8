/**
 * What it needs to deploy a release of an app again: its containers with their settings, and the content of their images. A file for the
 * present release of each app, and one for the release before. A file is on the disk before the release is deployed, and counts for nothing
 * while no document has its release.
 */
import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSettings, usedConfigs } from '@selvedge/protocol'
import { makeFolder, writeOnce } from '@selvedge/service-kit/store'
import * as z from 'zod'
import { type Content, contentSchema } from '../deployments/deployments.ts'
import { contentsOf, type FormerContents, type FormerRelease as OfImages } from '../images/former-contents.ts'
import { folderOf, namesIn, removePath } from './app-configs.ts'
import { releaseSchema } from './stored-apps.ts'

const releaseContainer = z.strictObject({
  name: z.string(),
  image: z.string(),
  imageKey: z.string(),
  env: z.record(z.string(), z.string()),
  /** As of `Member`. */
  retries: z.number().nullable(),
  content: contentSchema,
})

const releaseFile = z
  .strictObject({
    release: releaseSchema,
    /** In the order of the members of the release. */
    containers: z.array(releaseContainer),
  })
  .refine(({ release, containers }) => release.members.length === containers.length)

export type ReleaseFile = z.infer<typeof releaseFile>

/** A release that an app can go back to. */
interface FormerRelease {
  readonly revision: number
  /** Digests of its files. */
  readonly configs: readonly string[]
  /** Names of its secrets. */
  readonly secrets: string[]
}

export interface ReleaseFiles extends FormerContents {
  /** Resolves when a release is on the disk, in the place of one with its number. @param key of the app @throws NodeJS.ErrnoException */
  store(key: string, file: ReleaseFile): Promise<void>
  /** @returns undefined for one that is missing or damaged */
  read(key: string, revision: number): ReleaseFile | undefined
  /** Content of an image of a release, by the digest of its configuration. */
  contentOf(digest: string): Content | undefined
  /** The newest release before another one that differs from it. */
  former(key: string, revision: number): FormerRelease | undefined
  /** Removes all releases of an app but one and its former one. Never rejects. @param revision undefined: all of them */
  keepOnly(key: string, revision: number | undefined): Promise<void>
  /** Removes the releases of all other apps. Never rejects. */
  keepApps(keys: Iterable<string>): Promise<void>
}

interface Known extends FormerRelease, OfImages {
  /** Equal for releases that do not differ. */
  readonly print: string
}

const fileName = /^(\d{1,9})\.json$/

/**
 * @param folder of the releases of all apps; it is made with the first one
 * @param keys of the apps that there are
 */
export function createReleaseFiles(folder: string, keys: Iterable<string>): ReleaseFiles {
  const known = new Map([...keys].map((key) => [key, readKnown(join(folder, folderOf(key)), key)]))
  const pathOf = (key: string, revision: number) => join(folder, folderOf(key), `${revision}.json`)
  const ofApp = (key: string) => known.get(key) ?? []

  function former(key: string, revision: number): Known | undefined {
    const own = ofApp(key)
    const present = own.find((each) => each.revision === revision)
    return own
      .filter((each) => each.revision < revision && each.print !== present?.print)
      .toSorted((one, other) => other.revision - one.revision)[0]
  }

  async function keep(key: string, isKept: (each: Known) => boolean): Promise<void> {
    const stays = ofApp(key).filter(isKept)
    if (stays.length === 0) {
      known.delete(key)
      return removePath(join(folder, folderOf(key)))
    }
    known.set(key, stays)
    const names = new Set(stays.map(({ revision }) => `${revision}.json`))
    const own = join(folder, folderOf(key))
    for (const name of await namesIn(own)) if (!names.has(name)) await removePath(join(own, name))
  }

  return {
    async store(key, file) {
      makeFolder(join(folder, folderOf(key)))
      await writeOnce(pathOf(key, file.release.revision), JSON.stringify(file))
      const others = ofApp(key).filter(({ revision }) => revision !== file.release.revision)
      known.set(key, [...others, knownOf(key, file)])
    },
    read: (key, revision) => readFile(pathOf(key, revision)),
    contentOf: (digest) =>
      [...known.values()]
        .flat()
        .flatMap(({ contents }) => contents)
        .find(({ config }) => config.digest === digest),
    former,
    keepOnly(key, revision) {
      const stays = revision === undefined ? [] : [revision, former(key, revision)?.revision]
      return keep(key, (each) => stays.includes(each.revision))
    },
    async keepApps(present) {
      const keys = new Set(present)
      const names = new Set([...keys].map(folderOf))
      for (const key of [...known.keys()]) if (!keys.has(key)) known.delete(key)
      for (const name of await namesIn(folder)) if (!names.has(name)) await removePath(join(folder, name))
    },
    all: () => [...known.values()].flat(),
    drop: (release) => keep(release.key, (each) => each !== release),
  }
}

function knownOf(key: string, { release, containers }: ReleaseFile): Known {
  const { revision, deployedAt, completed: _, ...rest } = release
  const settings = containers.map(({ content, ...each }) => ({ ...each, digest: content.config.digest }))
  return {
    ...{ key, revision, deployedAt, secrets: release.secrets },
    print: hash('sha256', JSON.stringify([rest, settings]), 'hex'),
    contents: Object.values(contentsOf([{ contents: containers.map((each) => each.content) }])),
    configs: containers.flatMap(({ env }) =>
      usedConfigs(readSettings(env)['MCM.CONFIGS']).map(({ digest }) => digest),
    ),
  }
}

function readKnown(folder: string, key: string): Known[] {
  let names: string[] = []
  try {
    names = readdirSync(folder)
  } catch {
    return []
  }
  return names.flatMap((name) => {
    const file = fileName.test(name) ? readFile(join(folder, name)) : undefined
    return file ? [knownOf(key, file)] : []
  })
}

function readFile(path: string): ReleaseFile | undefined {
  try {
    return releaseFile.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    return undefined
  }
}
