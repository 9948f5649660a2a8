/** From the archive of a release to its folder: nothing of it is written before its bytes are the signed ones. */
import { createHash } from 'node:crypto'
import { createWriteStream, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { extract } from 'tar'
import { syncTree } from './durable.ts'
import { placeRelease } from './installation.ts'
import { withoutWaiting } from './regular-file.ts'

const maxArchiveBytes = 1024 ** 3

/** Called with the bytes done so far, and the total. */
export type OnProgress = (done: number, total: number) => void

/**
 * @param archive path of the file; another user may change it at any time, so only a copy that is the signed one is unpacked
 * @param sha256 in hexadecimal digits
 * @param releases folder of the releases
 * @param check throws if the unpacked release must not be used
 */
export async function stageRelease(
  archive: string,
  sha256: string,
  releases: string,
  version: string,
  check: (folder: string) => void,
  onProgress: OnProgress = () => undefined,
): Promise<void> {
  const source = await open(archive, withoutWaiting)
  try {
    const stat = await source.stat()
    if (!stat.isFile()) throw new Error(`${archive} is not a regular file`)
    if (stat.size > maxArchiveBytes) throw new Error(`${archive} is longer than ${maxArchiveBytes} bytes`)
    const expect = (found: string) => {
      if (found === sha256) return
      throw new Error(`${archive} has the SHA-256 ${found}; the release was signed with ${sha256}`)
    }
    // A wrong file costs no disk space: it is read a first time only to know that.
    let doneBytes = 0
    const onBytes = (bytes: number) => onProgress((doneBytes += bytes), 2 * stat.size)
    const discard = new Writable({ write: (_chunk, _encoding, done) => done() })
    expect(await read(source, stat.size, discard, onBytes))
    const work = mkdtempSync(join(releases, '.upgrade-'))
    try {
      const copy = join(work, 'archive')
      expect(await read(source, stat.size, createWriteStream(copy, { flags: 'wx', mode: 0o600 }), onBytes))
      await unpack(copy, join(work, 'tree'))
      check(join(work, 'tree'))
      placeRelease(releases, version, join(work, 'tree'))
    } finally {
      rmSync(work, { recursive: true, force: true })
    }
  } finally {
    await source.close()
  }
}

/** Copies so many bytes of a file. @returns their SHA-256 */
async function read(
  source: FileHandle,
  bytes: number,
  target: Writable,
  onBytes: (bytes: number) => void,
): Promise<string> {
  const hash = createHash('sha256')
  if (bytes === 0) return hash.digest('hex')
  await pipeline(
    source.createReadStream({ start: 0, end: bytes - 1, autoClose: false }),
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk)
        onBytes(chunk.length)
        yield chunk
      }
    },
    target,
  )
  return hash.digest('hex')
}

/** The owner of the files is the user of this process, whatever owner the archive has. */
async function unpack(archive: string, tree: string): Promise<void> {
  mkdirSync(tree, { mode: 0o755 })
  await extract({ file: archive, cwd: tree, strip: 1, preserveOwner: false, strict: true, umask: 0o022 })
  syncTree(tree)
}
