import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { RpcError } from '@selvedge/protocol'
import type { Content } from '../deployments/deployments.ts'
import type { Packed } from './archive.ts'
import type { Blobs, Draft } from './blobs.ts'
import { inspectLayer, type LayerReport, type Watch } from './layer.ts'
import { configDocument, type ImageConfig, imageLimits, ownArchitecture, parseDocument } from './manifest.ts'

/** What the document of all images contains of an image. */
function expectFewParts({ layers, repoTags }: Packed): void {
  const refuse = (what: string) => {
    throw new RpcError('invalid_image', `the image has ${what}`)
  }
  if (layers.length > imageLimits.layers)
    refuse(`${layers.length} layers; the limit is ${imageLimits.layers}`)
  if (repoTags.length > imageLimits.tags) refuse(`${repoTags.length} tags; the limit is ${imageLimits.tags}`)
  const long = repoTags.find((each) => each.length > imageLimits.tagLength)
  if (long !== undefined) refuse(`a tag of ${long.length} characters; the limit is ${imageLimits.tagLength}`)
}

/** An image that was read completely and found to be sound. It is not in the store yet. */
export interface Inspected {
  /** Puts the image into the store. @throws what the disk throws */
  commit(): Promise<Content>
  /** Removes what is left of the drafts; to be called when the image is stored or not needed any more. */
  discard(): Promise<void>
}

/**
 * Looks an image through: every layer is read, hashed and compared with the configuration, and the image is classified as a function
 * or as an image with a root file system.
 *
 * @param take is called with the unpacked bytes of the layers; throws if they are too many
 * @param watch passes on the file that a layer contains, and makes room for it; throws if there is no room
 * @throws RpcError `invalid_image`, `unsupported_image`, `digest_mismatch`, `storage_full`; then nothing is left of it
 */
export async function inspectImage(
  blobs: Blobs,
  packed: Packed,
  take: (bytes: number) => void,
  watch: Watch = (content) => content,
): Promise<Inspected> {
  const extra: Draft[] = []
  const discard = () => blobs.discard([...packed.drafts, ...extra])
  try {
    expectFewParts(packed)
    const config = parseDocument(
      await readFile(packed.config.path, 'utf8'),
      configDocument,
      'the image configuration',
    )
    const { diff_ids: diffIds } = config.rootfs
    if (diffIds.length !== packed.layers.length) {
      throw new RpcError(
        'invalid_image',
        `the configuration names ${diffIds.length} layers and the manifest ${packed.layers.length}`,
      )
    }
    const reports: LayerReport[] = []
    for (const [at, layer] of packed.layers.entries()) {
      const report = await inspectLayer(blobs, createReadStream(layer.path), take, watch)
      if (report.entry) extra.push(report.entry.draft)
      if (report.diffId !== diffIds[at])
        throw new RpcError(
          'digest_mismatch',
          `layer ${at} should be ${diffIds[at]} unpacked and is ${report.diffId}`,
        )
      reports.push(report)
    }
    const entry = functionEntry(reports)
    if (!entry) expectRunnable(config)
    return { commit: () => commitImage(blobs, packed, diffIds, entry), discard }
  } catch (cause) {
    await discard()
    throw cause
  }
}

async function commitImage(
  blobs: Blobs,
  packed: Packed,
  diffIds: readonly string[],
  entry: LayerReport['entry'],
): Promise<Content> {
  const config = await blobs.commit(packed.config)
  // Of a function its one file is all that is ever needed.
  if (entry) {
    const blob = await blobs.commit(entry.draft)
    return {
      config,
      kind: 'function',
      layers: [],
      entry: { ...blob, language: entry.language },
      size: blob.size,
    }
  }
  // Layers that change nothing are often the same one several times.
  for (const layer of new Set(packed.layers)) await blobs.commit(layer)
  const layers = packed.layers.map(({ digest, size }, at) => ({ digest, size, diffId: diffIds[at]! }))
  return { config, kind: 'oci', layers, entry: null, size: layers.reduce((sum, { size }) => sum + size, 0) }
}

/** A single layer without folders that holds index.js or index.wasm, beside empty ones, is a function image, or a broken one. */
function functionEntry(reports: readonly LayerReport[]): LayerReport['entry'] {
  const [only, ...others] = reports.filter(({ isEmpty }) => !isEmpty)
  if (others.length > 0 || !only) return undefined
  if (only.entry && !only.notFunction) return only.entry
  if (only.claimsFunction && !only.hasFolders && only.notFunction) throw only.notFunction
  return undefined
}

function expectRunnable({ config, architecture, os }: ImageConfig): void {
  const own = ownArchitecture()
  if ((os ?? 'linux') !== 'linux' || (architecture ?? own) !== own)
    throw new RpcError(
      'unsupported_image',
      `the image is for ${os}/${architecture}; this device is linux/${own}`,
    )
  if (!config?.Entrypoint?.length && !config?.Cmd?.length) {
    throw new RpcError(
      'unsupported_image',
      'the image holds neither index.js nor index.wasm alone, nor says which command to run',
    )
  }
}
