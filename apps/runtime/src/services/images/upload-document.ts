/** What a note states of an upload. */
import * as z from 'zod'

/** Names of the files with the bytes: UUIDs. */
export const filePattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const size = z.int().min(0)

const fields = z.strictObject({
  accountId: z.string(),
  clientId: z.string(),
  handle: z.string().regex(/^upload:[0-9a-f-]{36,64}$/),
  /** Name of the file with its bytes. */
  stored: z.string().regex(filePattern),
  length: size,
  file: z.string().max(255).nullable(),
  isInParts: z.boolean(),
  /** Bytes that survive a power cut, and their SHA-256. */
  bytes: size,
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  /** Unix milliseconds of the last byte. */
  time: z.number(),
  deployed: z.strictObject({ as: z.string().nullable(), id: z.string() }).nullable(),
})

export const uploadDocument = fields.refine(({ bytes, length }) => bytes <= length)

export type UploadDocument = z.infer<typeof fields>
