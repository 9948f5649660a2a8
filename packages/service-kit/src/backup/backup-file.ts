/**
 * The file of a backup: one line that names the format, a manifest, and the members one after the other. Every byte is covered by a
 * SHA-256 sum, so that a damaged or truncated file is refused before anything of it is used. The sums detect damage; they do not
 * prove who made the file: keep backups where only the operator can write.
 */
import { createHash } from 'node:crypto'
import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs'
import * as z from 'zod'
import { StoreError } from '../store/store-error.ts'

/** Raised with every change of the file. A program refuses a file with a higher number. */
const format = 1
const maxHeadBytes = 200
const maxManifestBytes = 10_000
const chunkBytes = 1 << 20

/** What a backup can contain: the database, and the keys that encrypt secrets in it. */
export type MemberName = 'database' | 'secret-keys'

const member = z.strictObject({
  name: z.enum(['database', 'secret-keys']),
  bytes: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
})
const manifest = z.strictObject({
  service: z.enum(['identity', 'discovery']),
  /** Version of the program that made it. */
  version: z.string().max(100),
  /** Unix milliseconds at which the copy of the database began: everything acknowledged before is in it. */
  madeAt: z.int().min(0),
  /** Version of the tables. */
  tables: z.int().min(0),
  members: z.array(member).min(1).max(2),
})
export type Manifest = z.infer<typeof manifest>

/** Writes a backup. @param members path of each; @throws NodeJS.ErrnoException */
export function writeBackup(
  target: number,
  about: Omit<Manifest, 'members'>,
  members: readonly { readonly name: MemberName; readonly path: string }[],
): Manifest {
  const sources = members.map(({ name, path }) => ({ name, source: openSync(path, 'r') }))
  try {
    const described = sources.map(({ name, source }) => {
      const { size } = fstatSync(source)
      return { name, bytes: size, sha256: copy(source, 0, size, undefined) }
    })
    const whole: Manifest = { ...about, members: described }
    const text = Buffer.from(JSON.stringify(whole))
    writeAll(target, Buffer.from(`selvedge backup ${format} ${text.length} ${digest(text)}\n`))
    writeAll(target, text)
    for (const [at, { source }] of sources.entries()) copy(source, 0, described[at]!.bytes, target)
    fsyncSync(target)
    return whole
  } finally {
    for (const { source } of sources) closeSync(source)
  }
}

/** Reads the beginning of a backup. @throws StoreError when it is damaged, no backup, or of a later format */
export function readManifest(source: number): Manifest {
  const head = /^selvedge backup (\d{1,9}) (\d{1,9}) ([0-9a-f]{64})$/.exec(readLine(source))
  if (!head) throw refusal('it is not a backup of Selvedge')
  const [, found, length, sum] = head
  if (Number(found) > format)
    throw refusal(
      `it has the format ${found}, and this version reads format ${format}: use a later version of Selvedge`,
    )
  if (Number(length) > maxManifestBytes) throw refusal('its manifest is damaged')
  const text = readExactly(source, Number(length))
  if (digest(text) !== sum) throw refusal('its manifest is damaged')
  const read = manifest.safeParse(JSON.parse(text.toString()))
  if (!read.success) throw refusal('its manifest has members that this version does not know')
  if (new Set(read.data.members.map(({ name }) => name)).size !== read.data.members.length)
    throw refusal('its manifest names a member twice')
  return read.data
}

/**
 * Reads the next member into a new file, mode 0600. Its content is on the disk when this returns.
 *
 * @throws StoreError when it is damaged; NodeJS.ErrnoException when the file cannot be written
 */
export function extractMember(
  source: number,
  { name, bytes, sha256 }: Manifest['members'][number],
  path: string,
) {
  const target = openSync(path, 'wx', 0o600)
  try {
    if (copy(source, null, bytes, target) !== sha256) throw refusal(`its member "${name}" is damaged`)
    fsyncSync(target)
  } finally {
    closeSync(target)
  }
}

/** @throws StoreError when something follows the last member */
export function expectEnd(source: number): void {
  if (readSync(source, Buffer.alloc(1), 0, 1, null) > 0)
    throw refusal('it has more content than its manifest names')
}

/**
 * Reads some bytes, and writes them to a file unless that is undefined.
 *
 * @param from position to read from; null: the present one
 * @returns the SHA-256 sum, in hexadecimal digits
 */
function copy(source: number, from: number | null, bytes: number, target: number | undefined): string {
  const hash = createHash('sha256')
  const buffer = Buffer.alloc(Math.min(chunkBytes, bytes))
  for (let done = 0; done < bytes; ) {
    const position = from === null ? null : from + done
    const count = readSync(source, buffer, 0, Math.min(buffer.length, bytes - done), position)
    if (count === 0) throw refusal('it is cut off')
    const part = buffer.subarray(0, count)
    hash.update(part)
    if (target !== undefined) writeAll(target, part)
    done += count
  }
  return hash.digest('hex')
}

function readLine(source: number): string {
  const line = Buffer.alloc(maxHeadBytes)
  for (let length = 0; length < maxHeadBytes; length++) {
    if (readSync(source, line, length, 1, null) === 0) break
    if (line[length] === 0x0a) return line.toString('latin1', 0, length)
  }
  return ''
}

function readExactly(source: number, bytes: number): Buffer {
  const content = Buffer.alloc(bytes)
  for (let done = 0; done < bytes; ) {
    const count = readSync(source, content, done, bytes - done, null)
    if (count === 0) throw refusal('it is cut off')
    done += count
  }
  return content
}

function writeAll(target: number, content: Uint8Array): void {
  for (let done = 0; done < content.length; ) done += writeSync(target, content, done)
}

const digest = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex')

const refusal = (why: string): StoreError =>
  new StoreError(`the backup cannot be used: ${why}. Nothing was changed`, { isUnrepairable: true })
