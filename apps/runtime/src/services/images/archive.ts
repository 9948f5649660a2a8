/** Turns an archive into drafts of blobs: a `docker save` archive, or an OCI image layout as a tar file. */
import { readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import * as z from 'zod'
import type { Blobs, Draft } from './blobs.ts'
import { findManifest, parseDocument } from './manifest.ts'
import { readTar, unpacked } from './tar-stream.ts'

export interface Packed {
  readonly config: Draft
  readonly layers: readonly Draft[]
  readonly repoTags: readonly string[]
  /** Every draft that was made, whatever becomes of it. */
  readonly drafts: readonly Draft[]
}

const maxDocument = 4 * 1024 * 1024
const broken = (detail: string) => new RpcError('invalid_image', detail)

/** `manifest.json` of `docker save`. */
const saveManifest = z
  .array(
    z.object({
      Config: z.string(),
      RepoTags: z.array(z.string()).nullish(),
      Layers: z.array(z.string()).min(1),
    }),
  )
  .min(1)

/**
 * @param take is called with the unpacked bytes of the archive; throws if they are too many
 * @throws RpcError `invalid_image`, `digest_mismatch`; then nothing is left of it
 */
export async function readArchive(
  blobs: Blobs,
  content: AsyncIterable<Uint8Array>,
  take: (bytes: number) => void,
): Promise<Packed> {
  const drafts = new Map<string, Draft>()
  const links = new Map<string, string>()
  try {
    await readTar(
      unpacked(content, (chunk) => take(chunk.length)),
      async (path, entry) => {
        if (entry.type === 'Directory') return
        // `docker save` links a layer that it has written before. Such a link names another entry, nothing else.
        if (entry.type === 'SymbolicLink' || entry.type === 'Link') {
          const base = entry.type === 'Link' ? '' : posix.dirname(path)
          return void links.set(path, posix.join(base, entry.linkpath ?? ''))
        }
        if (drafts.has(path)) throw broken(`the archive holds ${JSON.stringify(path)} twice`)
        drafts.set(path, await blobs.draft(entry as AsyncIterable<Uint8Array>))
      },
    )
    const find = (path: string): Draft => {
      const clean = posix.normalize(path)
      const draft = drafts.get(clean) ?? drafts.get(links.get(clean) ?? '')
      if (!draft) throw broken(`the archive names ${JSON.stringify(path.slice(0, 200))} and does not hold it`)
      return draft
    }
    const all = [...drafts.values()]
    if (drafts.has('manifest.json')) return { ...(await readSaved(find)), drafts: all }
    if (drafts.has('index.json')) return { ...(await readLayout(find)), drafts: all }
    throw new RpcError(
      'invalid_image',
      'the archive holds neither manifest.json (docker save) nor index.json (OCI layout)',
    )
  } catch (cause) {
    await blobs.discard(drafts.values())
    throw cause
  }
}

type Find = (path: string) => Draft
type Found = Omit<Packed, 'drafts'>

async function readSaved(find: Find): Promise<Found> {
  const text = await readText(find('manifest.json'), 'manifest.json')
  const manifests = parseDocument(text, saveManifest, 'manifest.json')
  if (manifests.length > 1) throw broken(`the archive holds ${manifests.length} images; save one at a time`)
  const { Config, RepoTags, Layers } = manifests[0]!
  const config = find(Config)
  const [named] = /[0-9a-f]{64}/.exec(Config) ?? []
  if (named !== undefined) expectDigest(Config, `sha256:${named}`, config)
  return { config, layers: Layers.map(find), repoTags: RepoTags ?? [] }
}

async function readLayout(find: Find): Promise<Found> {
  const blob = (digest: string) => {
    const draft = find(`blobs/${digest.replace(':', '/')}`)
    expectDigest('a blob of the layout', digest, draft)
    return draft
  }
  const read = (digest: string) => readText(blob(digest), 'the document of an image')
  const index = await readText(find('index.json'), 'index.json')
  const { manifest, annotations } = await findManifest(index, 'index.json', read)
  const name = nameIn(annotations)
  return {
    config: blob(manifest.config.digest),
    layers: manifest.layers.map(({ digest }) => blob(digest)),
    repoTags: name === undefined ? [] : [name],
  }
}

/** A tag alone, such as `latest`, is no name: tools write it where the folder of the layout is the name. */
function nameIn(annotations: Readonly<Record<string, string>>): string | undefined {
  const reference = annotations['org.opencontainers.image.ref.name']
  const full = reference !== undefined && /[/:@]/.test(reference) ? reference : undefined
  return annotations['io.containerd.image.name'] ?? full
}

function expectDigest(what: string, expected: string, draft: Draft): void {
  if (draft.digest !== expected)
    throw new RpcError('digest_mismatch', `${what} should be ${expected} and is ${draft.digest}`)
}

async function readText(draft: Draft, what: string): Promise<string> {
  if (draft.size > maxDocument) throw broken(`${what} is larger than ${maxDocument} bytes`)
  return readFile(draft.path, 'utf8')
}
