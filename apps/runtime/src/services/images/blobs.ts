/** The content-addressed store: immutable files named by their SHA-256, whole under their name or not there. */
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { RpcError } from '@selvedge/protocol'
import { makeFolder } from '@selvedge/service-kit/store'

interface Blob {
  readonly digest: string
  readonly size: number
}

/** Written and measured, not yet in the store. */
export interface Draft extends Blob {
  readonly path: string
}

export interface Blobs {
  /** Writes content aside, and hashes it on the way. @throws RpcError `digest_mismatch` where it is not what was expected */
  draft(content: AsyncIterable<Uint8Array>, expected?: string): Promise<Draft>
  /** Puts a draft into the store, where it survives a power cut. It replaces a stored copy. */
  commit(draft: Draft): Promise<Blob>
  discard(drafts: Iterable<Draft>): Promise<void>
  has(digest: string): Promise<boolean>
  pathOf(digest: string): string
  /**
   * Reads content in chunks and hashes it on the way. The last chunk comes after the digest was verified, so that damaged
   * content never arrives whole.
   *
   * @throws RpcError `digest_mismatch` if it is damaged or missing; deploying the image again repairs it
   */
  read(digest: string): AsyncGenerator<Buffer>
  /** Removes every blob that is not in the set; gives the bytes that this freed. */
  keepOnly(used: ReadonlySet<string>): Promise<number>
}

/** @param folder is made where it is not there; what an earlier run left unfinished in it is removed */
export async function openBlobs(folder: string): Promise<Blobs> {
  const store = join(folder, 'sha256')
  const incoming = join(folder, 'incoming')
  await rm(incoming, { recursive: true, force: true })
  makeFolder(store)
  makeFolder(incoming)
  const pathOf = (digest: string) => join(store, digest.replace('sha256:', ''))
  const has = (digest: string) =>
    stat(pathOf(digest)).then(
      () => true,
      () => false,
    )

  return {
    async draft(content, expected) {
      const path = join(incoming, randomUUID())
      const hash = createHash('sha256')
      let size = 0
      const measure = async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          hash.update(chunk)
          size += chunk.length
          yield chunk
        }
      }
      const file = createWriteStream(path, { flags: 'wx', mode: 0o600 })
      try {
        await pipeline(content, measure, file)
        const digest = `sha256:${hash.digest('hex')}`
        if (expected !== undefined && digest !== expected) {
          throw new RpcError('digest_mismatch', `content that should be ${expected} is ${digest}`)
        }
        return { path, digest, size }
      } catch (cause) {
        // A stream that is destroyed while it opens its file makes the file all the same, and closes after that.
        if (!file.closed) await new Promise<void>((resolve) => file.once('close', () => resolve()))
        await rm(path, { force: true })
        throw cause
      }
    },
    async commit({ path, digest, size }) {
      // Even if it is stored already: this repairs a copy that was damaged on the disk.
      await sync(path)
      await rename(path, pathOf(digest))
      await sync(store)
      return { digest, size }
    },
    async discard(drafts) {
      for (const { path } of drafts) await rm(path, { force: true })
    },
    has,
    pathOf,
    read: (digest) => readVerified(pathOf(digest), digest),
    async keepOnly(used) {
      let freed = 0
      for (const name of await readdir(store)) {
        if (used.has(`sha256:${name}`)) continue
        const path = join(store, name)
        freed += (await stat(path)).size
        await rm(path)
      }
      return freed
    },
  }
}

async function* readVerified(path: string, digest: string): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  let held: Buffer | undefined
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      hash.update(chunk)
      if (held) yield held
      held = chunk
    }
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') throw damaged(digest, 'missing')
    throw cause
  }
  const found = `sha256:${hash.digest('hex')}`
  if (found !== digest) throw damaged(digest, `damaged: it is ${found}`)
  if (held) yield held
}

function damaged(digest: string, what: string): RpcError {
  return new RpcError('digest_mismatch', `the stored content ${digest} is ${what}; deploy the image again`, {
    hint: 'Deploy the image again from its source (selvedge image deploy), then check the disk of the device.',
  })
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  await handle.sync().finally(() => handle.close())
}
