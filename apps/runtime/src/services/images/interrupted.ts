/**
 * Downloads that are under way, one small file each, so that the next run of the runtime continues those that a stop interrupted. A file is
 * named by the hash of its content: one that was changed or cut short is removed, and its download is not continued.
 */
import { hash } from 'node:crypto'
import { lstat, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writeOnce } from '@selvedge/service-kit/store'
import * as z from 'zod'
import type { Owner } from '../deployments/ownership.ts'
import { createLateFolder } from './late-folder.ts'
import { shares } from './limits.ts'

const limits = { bytes: 16 * 1024, files: shares.pulls.onDevice } as const

const document = z.strictObject({
  accountId: z.string(),
  clientId: z.string(),
  /** The reference. */
  source: z.string(),
  /** Name that the caller gave the image. */
  name: z.string().nullable(),
  /** Whether it does not wait for the link. Absent in files of earlier versions. */
  isUrgent: z.boolean().optional(),
  /** Unix milliseconds. */
  since: z.number(),
})

export interface InterruptedPull {
  readonly owner: Owner
  readonly source: string
  readonly name: string | undefined
  /** Whether it uses the link at once. */
  readonly isUrgent: boolean
  /** Unix milliseconds of its begin. */
  readonly since: number
  /** To be called when it is complete or given up. */
  forget(): Promise<void>
}

export interface InterruptedPulls {
  /** Those that an earlier run left, at most 64. */
  readonly left: InterruptedPull[]
  /** Notes a pull while its work lasts. On a full disk it works without the note. @throws what the work throws */
  during<T>(pull: Omit<InterruptedPull, 'forget'>, work: () => Promise<T>): Promise<T>
}

/** @param folder is made by the first pull */
export async function openInterrupted(folder: string): Promise<InterruptedPulls> {
  const late = createLateFolder(folder)
  const note = async (path: string, text: string) => {
    late.make()
    await writeOnce(path, text)
  }
  const forget = (path: string) => rm(path, { recursive: true, force: true })

  async function read(path: string, name: string): Promise<InterruptedPull | undefined> {
    try {
      const found = await lstat(path)
      if (!found.isFile() || found.size > limits.bytes) return undefined
      const text = await readFile(path, 'utf8')
      if (nameOf(text) !== name) return undefined
      const {
        accountId,
        clientId,
        source,
        name: given,
        isUrgent = false,
        since,
      } = document.parse(JSON.parse(text))
      const owner = { account_id: accountId, client_id: clientId }
      return { owner, source, name: given ?? undefined, isUrgent, since, forget: () => forget(path) }
    } catch {
      return undefined
    }
  }

  const left: InterruptedPull[] = []
  for (const name of await late.names()) {
    const path = join(folder, name)
    const pull = left.length < limits.files ? await read(path, name) : undefined
    if (pull) left.push(pull)
    else await forget(path)
  }

  return {
    left,
    async during({ owner, source, name = null, isUrgent, since }, work) {
      const { account_id: accountId, client_id: clientId } = owner
      const text = JSON.stringify({ accountId, clientId, source, name, isUrgent, since })
      const path = join(folder, nameOf(text))
      await note(path, text).catch(() => undefined)
      try {
        return await work()
      } finally {
        await forget(path).catch(() => undefined)
      }
    },
  }
}

const nameOf = (text: string): string => hash('sha256', text, 'hex')
