/** The engine's copies of images: made when a container needs one, removed when no container does. */
import type { Blobs } from '../../images/blobs.ts'
import type { Plan } from '../engine.ts'
import * as answers from './answers.ts'
import { type EngineApi, EngineError, ignoreMissing } from './engine-api.ts'
import { engineConfig, type ImageConfig } from './image-config.ts'
import { saveStream } from './save-stream.ts'

/** Milliseconds without a byte after which a load counts as lost: the engine unpacks the image meanwhile. */
const loadIdleMs = 300_000
/** Part of the tags. It changes with what is used of an image's configuration. */
const form = 'v2'

export interface EngineImages {
  /** Name of the image of a container in the engine. */
  tagOf(plan: Pick<Plan, 'content'>): string
  /** Gives the engine the image if it lacks it. @throws EngineError, RpcError `engine_unavailable` */
  load(api: EngineApi, plan: Pick<Plan, 'content'>, config: ImageConfig): Promise<void>
  /** Marks every copy but those of the given digests for removal. */
  keepOnly(api: EngineApi, digests: ReadonlySet<string>): Promise<void>
  /** Marks the copy of an image for removal. */
  unwant(digest: string): void
  /** Removes what is marked and not in use. @throws RpcError `engine_unavailable` */
  sweep(api: EngineApi): Promise<void>
}

/** @param repository name in the engine, of this runtime alone */
export function createEngineImages(repository: string, blobs: Blobs): EngineImages {
  const tagOf = (digest: string) => `${repository}/${digest.slice(7, 39)}:${form}`
  /** Tags of images that are to go when nothing runs on them any more. */
  const unwanted = new Set<string>()
  const has = (api: EngineApi, tag: string) =>
    api.read(`/images/${encodeURIComponent(tag)}/json`, answers.anything).then(
      () => true,
      (cause) => ignoreMissing(cause) ?? false,
    )

  return {
    tagOf: ({ content }) => tagOf(content.config.digest),
    async load(api, { content }, config) {
      const tag = tagOf(content.config.digest)
      unwanted.delete(tag)
      if (await has(api, tag)) return
      const stream = saveStream(blobs, content.layers, engineConfig(config), tag)
      const text = await api.upload('/images/load?quiet=true', stream, loadIdleMs)
      // The status is sent before the image is read: only the image itself shows that it was loaded.
      if (!(await has(api, tag))) throw new EngineError(500, text || 'it did not load the image')
    },
    async keepOnly(api, digests) {
      const tags = new Set([...digests].map(tagOf))
      const filters = encodeURIComponent(JSON.stringify({ reference: [`${repository}/*`] }))
      const found = await api.read(`/images/json?filters=${filters}`, answers.images)
      for (const tag of found.flatMap(({ RepoTags }) => RepoTags ?? []))
        if (tag.startsWith(`${repository}/`) && !tags.has(tag)) unwanted.add(tag)
    },
    unwant: (digest) => void unwanted.add(tagOf(digest)),
    /** By itself an engine refuses while something runs on an image; forced, it would end what runs. */
    async sweep(api) {
      for (const tag of unwanted) {
        const isGone = await api.send('DELETE', `/images/${encodeURIComponent(tag)}`).then(
          () => true,
          (cause) => {
            if (cause instanceof EngineError) return cause.status === 404
            // The engine does not answer: the others would have to wait as long.
            throw cause
          },
        )
        if (isGone) unwanted.delete(tag)
      }
    },
  }
}
