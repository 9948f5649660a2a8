import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import type { Blobs, Draft } from './blobs.ts'
import { type Entry, readTar, unpacked } from './tar-stream.ts'

/** Passes content of so many bytes on to the disk. */
export type Watch = (content: AsyncIterable<Uint8Array>, length: number) => AsyncIterable<Uint8Array>

export interface LayerReport {
  /** Digest of the layer unpacked. */
  readonly diffId: string
  /** Names at the root that make a function image: index.js or index.wasm, or what pretends to be. */
  readonly entry: { readonly draft: Draft; readonly language: 'js' | 'wasm' } | undefined
  /** What keeps it from being the layer of a function image; undefined where nothing does. */
  readonly notFunction: RpcError | undefined
  /** Whether it has an entry, or the first problem is that its entry is broken. */
  readonly claimsFunction: boolean
  /** Whether it has no entry: it changes nothing, and is there because a step of a build was to make it. */
  readonly isEmpty: boolean
  /** Whether it may be a root file system: it has folders. */
  readonly hasFolders: boolean
}

/** Largest file of a function image. */
const maxEntry = 64 * 1024 * 1024
const files = new Set(['File', 'OldFile', 'ContiguousFile'])

/**
 * Reads a layer through, and refuses what no layer may hold: device nodes, and links that lead out of the root.
 *
 * @param budget is called with the unpacked bytes; throws if they are too many
 * @param watch passes on the file that it contains
 * @throws RpcError `invalid_image`
 */
export async function inspectLayer(
  blobs: Blobs,
  content: AsyncIterable<Uint8Array>,
  budget: (bytes: number) => void,
  watch: Watch,
): Promise<LayerReport> {
  const hash = createHash('sha256')
  let entry: LayerReport['entry']
  let notFunction: RpcError | undefined
  let isEntryBroken = false
  let hasFolders = false
  let isEmpty = true
  const object = (detail: string, hint?: string) => {
    notFunction ??= new RpcError('invalid_image', detail, hint === undefined ? {} : { hint })
  }

  const tar = unpacked(content, (chunk) => {
    hash.update(chunk)
    budget(chunk.length)
  })
  try {
    const onEntry = async (path: string, each: Entry): Promise<void> => {
      if (path === '') return
      isEmpty = false
      refuseHostile(path, each)
      if (each.type === 'Directory') hasFolders = true
      else if (path.includes('/')) hasFolders = true
      const isEntry = path === 'index.js' || path === 'index.wasm'
      if (!isEntry) {
        const leftover = /(^|\/)(\._|__MACOSX|\.DS_Store)/.test(path)
        return object(
          `the layer holds ${JSON.stringify(path.slice(0, 200))} beside index.js or index.wasm`,
          leftover
            ? 'macOS put it there; make the archive with COPYFILE_DISABLE=1, or with "selvedge image pack".'
            : 'A function image holds one file; bundle the others into it.',
        )
      }
      const isFirst = notFunction === undefined && !entry
      if (!files.has(each.type)) {
        isEntryBroken ||= isFirst
        return object(`${path} is a ${each.type}, not a file`)
      }
      if (entry) return object(`the layer holds ${path} twice, or both index.js and index.wasm`)
      if ((each.size ?? 0) > maxEntry) {
        isEntryBroken ||= isFirst
        return object(`${path} is larger than ${maxEntry} bytes`)
      }
      const language = path === 'index.js' ? 'js' : 'wasm'
      entry = { draft: await blobs.draft(watch(each as AsyncIterable<Uint8Array>, each.size ?? 0)), language }
    }
    await readTar(tar, onEntry, { mayBeEmpty: true })
    const claimsFunction = entry !== undefined || isEntryBroken
    return { diffId: `sha256:${hash.digest('hex')}`, entry, notFunction, claimsFunction, isEmpty, hasFolders }
  } catch (cause) {
    if (entry) await blobs.discard([entry.draft])
    throw cause
  }
}

function refuseHostile(path: string, { type, linkpath = '' }: Entry): void {
  const shown = JSON.stringify(path.slice(0, 200))
  if (type === 'CharacterDevice' || type === 'BlockDevice')
    throw new RpcError('invalid_image', `the layer holds the device node ${shown}`)
  if (type !== 'Link' && type !== 'SymbolicLink') return
  const target =
    type === 'Link' || linkpath.startsWith('/')
      ? posix.normalize(linkpath)
      : posix.join(posix.dirname(path), linkpath)
  if (target === '..' || target.startsWith('../../')) {
    throw new RpcError(
      'invalid_image',
      `the layer holds the link ${shown}, which leads out of the root to ${JSON.stringify(linkpath.slice(0, 200))}`,
    )
  }
}
