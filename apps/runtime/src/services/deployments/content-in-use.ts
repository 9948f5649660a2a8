/** Content of images that work under way uses, such as the start of a container: it stays on the disk whatever the document needs. */
import type { Content } from './deployments.ts'

export interface ContentInUse {
  /** Does work with content. The content is in use until the work is complete, also when it fails. */
  hold<T>(contents: readonly Content[], work: () => Promise<T>): Promise<T>
  /** All content in use, by the digest of its configuration. */
  all(): Record<string, Content>
}

/** @param onReleased called with content when work with it is complete; other work may still use it */
export function createContentInUse(onReleased: (contents: readonly Content[]) => void): ContentInUse {
  /** One list for each work. */
  const held = new Set<readonly Content[]>()
  return {
    async hold(contents, work) {
      const entry = [...contents]
      held.add(entry)
      try {
        return await work()
      } finally {
        held.delete(entry)
        onReleased(entry)
      }
    },
    all: () => Object.fromEntries([...held].flat().map((content) => [content.config.digest, content])),
  }
}
