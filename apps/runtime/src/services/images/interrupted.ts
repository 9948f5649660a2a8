/** Downloads that are under way, so that the next run of the runtime continues those that a stop interrupted. */
import * as z from 'zod'
import type { Owner } from '../deployments/ownership.ts'
import { shares } from './limits.ts'
import { createNotes } from './notes.ts'

const document = z.strictObject({
  accountId: z.string(),
  clientId: z.string(),
  /** Of the token that began it, by which a later run notices that its project was removed. Absent in files of earlier versions. */
  token: z.strictObject({ iss: z.string(), iat: z.number(), epoch: z.number().optional() }).optional(),
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
  const notes = createNotes(folder, document, shares.pulls.onDevice)
  const found = await notes.read()

  return {
    left: found.map(({ value: { accountId, clientId, token, name, isUrgent = false, ...rest }, forget }) => ({
      ...rest,
      owner: { account_id: accountId, client_id: clientId, ...token },
      name: name ?? undefined,
      isUrgent,
      forget,
    })),
    async during({ owner, source, name = null, isUrgent, since }, work) {
      const { account_id: accountId, client_id: clientId, iss, iat, epoch } = owner
      const token = iss !== undefined &&
        iat !== undefined && { iss, iat, ...(epoch !== undefined && { epoch }) }
      const pull = { accountId, clientId, ...(token && { token }), source, name, isUrgent, since }
      const note = await notes.put(pull).catch(() => undefined)
      try {
        return await work()
      } finally {
        await note?.forget().catch(() => undefined)
      }
    },
  }
}
