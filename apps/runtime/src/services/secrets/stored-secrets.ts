/**
 * The secrets of services, encrypted. They are in a document of their own, by the keys of `ownership.ts`: no two owners and names have
 * the same.
 */
import { join } from 'node:path'
import { type DocumentStore, openDocument } from '@selvedge/service-kit/store'
import * as z from 'zod'

const storedSecret = z.strictObject({
  accountId: z.string(),
  clientId: z.string(),
  name: z.string(),
  /** Bytes of the value. */
  size: z.number(),
  /** Unix milliseconds. */
  updated: z.number(),
  sealed: z.string(),
})

export type StoredSecret = z.infer<typeof storedSecret>
export type StoredSecrets = Readonly<Record<string, StoredSecret>>

/** File with the key, in the folder of the runtime. */
export const secretKeyName = 'secrets-key.json'

/** @throws StoreError */
export const openStoredSecrets = (folder: string): Promise<DocumentStore<StoredSecrets>> =>
  openDocument<StoredSecrets>(join(folder, 'secrets'), {
    version: 1,
    initial: {},
    read: (json) => z.record(z.string(), storedSecret).parse(json),
  })
