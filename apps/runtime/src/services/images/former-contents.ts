/** Content of images that services may go back to. It stays while there is room: it is removed like an image that nothing uses. */
import { blobsOf, type Content, type Deployments } from '../deployments/deployments.ts'
import type { Unused } from './evictable.ts'

/** What can be deployed again as a whole. */
export interface FormerRelease {
  /** Key of what it belongs to. */
  readonly key: string
  /** Unix milliseconds. */
  readonly deployedAt: number
  readonly contents: readonly Content[]
}

export interface FormerContents {
  all(): readonly FormerRelease[]
  /** Removes one, so that its content is not needed any more. Never rejects. */
  drop(release: FormerRelease): Promise<void>
}

/** The content of releases, by the digest of its configuration. */
export const contentsOf = (releases: readonly Pick<FormerRelease, 'contents'>[]): Deployments['contents'] =>
  Object.fromEntries(
    releases.flatMap(({ contents }) => contents.map((content) => [content.config.digest, content])),
  )

interface UnusedRelease extends Unused {
  readonly release: FormerRelease
}

/** Releases with content that nothing else needs. @param needed content of images, of containers, and of work under way */
export function unusedReleases(
  releases: readonly FormerRelease[],
  needed: Deployments['contents'],
): UnusedRelease[] {
  const blobs = blobsOf({ contents: needed })
  return releases.flatMap((release) => {
    const sizes = new Map(
      release.contents
        .flatMap(({ config, layers, entry }) => [config, ...layers, ...(entry ? [entry] : [])])
        .flatMap(({ digest, size }) => (blobs.has(digest) ? [] : [[digest, size] as const])),
    )
    if (sizes.size === 0) return []
    return {
      owner: release.key.slice(0, release.key.lastIndexOf('/') + 1),
      bytes: [...sizes.values()].reduce((sum, size) => sum + size, 0),
      usedAt: release.deployedAt,
      release,
    }
  })
}
