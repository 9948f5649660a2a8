/** Uploads across a start of the runtime: a note for each, with the bytes that are on the disk and their digest. */
import { lstat, rm, truncate } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { keyOf } from '../deployments/ownership.ts'
import { createNotes, type Note, type Notes } from './notes.ts'
import { isOwnFile } from './own-file.ts'
import { createStoredUpload, damages, type StoredUpload } from './stored-upload.ts'
import { filePattern, type UploadDocument, uploadDocument } from './upload-document.ts'

/** Notes that a start reads: a stop between two notes of an upload leaves both. */
const maxNotes = 200
export interface UploadNotes {
  /**
   * Writes how many bytes of an upload are on the disk, in place of its note before.
   *
   * @param digest SHA-256 of these bytes, in hexadecimal
   * @throws NodeJS.ErrnoException
   */
  put(upload: StoredUpload, bytes: number, digest: string): Promise<void>
  /** To be called before a file of an upload is made. @throws NodeJS.ErrnoException */
  makeFolder(): void
  /** What earlier runs left, oldest first. What is on the disk beside that is removed. */
  read(): Promise<StoredUpload[]>
}

/** @param lasts whether uploads last across a start; otherwise notes are not written, and those that are found are removed */
export function openUploadNotes(folder: string, lasts: boolean): UploadNotes {
  const notes: Notes<UploadDocument> = createNotes(folder, uploadDocument, lasts ? maxNotes : 0)
  return {
    makeFolder: notes.makeFolder,
    async put(upload, bytes, digest) {
      if (!lasts) return
      const { owner, path, handle, length, file = null, isInParts, time, deployed } = upload
      const former = upload.note
      const note = await notes.put({
        ...{ accountId: owner.account_id, clientId: owner.client_id, handle, stored: basename(path) },
        ...{ length, file, isInParts, bytes, digest, time },
        deployed: deployed ? { as: deployed.as ?? null, id: deployed.id } : null,
      })
      upload.note = note
      if (former && !isSame(former.value, note.value)) await former.forget()
    },
    async read() {
      const files: string[] = []
      const found = await notes.read((name) => filePattern.test(name) && files.push(name) > 0)
      const uploads: StoredUpload[] = []
      for (const note of await newest(found)) {
        const upload = uploadOf(note, folder)
        const damage = await damageOf(upload)
        if (damage !== undefined) upload.damage = damage
        uploads.push(upload)
      }
      const inUse = new Set(uploads.filter(isOnDisk).map(({ path }) => path))
      for (const name of files) {
        const path = join(folder, name)
        if (!inUse.has(path)) await rm(path, { recursive: true, force: true })
      }
      return uploads.toSorted((one, other) => one.time - other.time)
    },
  }
}

const isOnDisk = ({ damage, deployed }: StoredUpload): boolean =>
  damage === undefined && deployed === undefined
const isSame = (one: UploadDocument, other: UploadDocument): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

/** The last note of each upload; the others are removed. */
async function newest(found: readonly Note<UploadDocument>[]): Promise<Note<UploadDocument>[]> {
  const last = new Map<string, Note<UploadDocument>>()
  const rank = ({ deployed, bytes }: UploadDocument) => (deployed ? Number.POSITIVE_INFINITY : bytes)
  for (const note of found) {
    const { accountId, clientId, handle } = note.value
    const key = keyOf({ account_id: accountId, client_id: clientId }, handle)
    const other = last.get(key)
    const isLater = !other || rank(note.value) > rank(other.value)
    if (isLater) last.set(key, note)
    await (isLater ? other : note)?.forget()
  }
  return [...last.values()]
}

function uploadOf(note: Note<UploadDocument>, folder: string): StoredUpload {
  const { accountId, clientId, stored, file, time, deployed, ...rest } = note.value
  const upload = {
    ...{ ...rest, owner: { account_id: accountId, client_id: clientId }, path: join(folder, stored) },
    file: file ?? undefined,
  }
  const found = createStoredUpload(upload, time, false)
  found.note = note
  if (deployed) found.deployed = { as: deployed.as ?? undefined, id: deployed.id }
  return found
}

/** Why a file cannot be continued, without its content: that is read when it is first used. */
async function damageOf({ path, bytes, deployed }: StoredUpload): Promise<string | undefined> {
  if (deployed) return undefined
  const found = await lstat(path).catch(() => undefined)
  if (!found) return damages.missing
  if (!isOwnFile(found)) return damages.foreign
  if (found.size < bytes) return `its file has ${found.size} of the ${bytes} bytes that were stored`
  // What arrived after the last note may not be on the disk.
  if (found.size > bytes) await truncate(path, bytes)
  return undefined
}
