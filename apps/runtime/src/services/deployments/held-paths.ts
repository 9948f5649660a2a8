/**
 * Paths of the gateway that containers gave up. They are in a document of their own: the format of the deployments stays one that
 * the release before reads, which leaves this document alone.
 */
import { join } from 'node:path'
import { type DocumentStore, openDocument } from '@selvedge/service-kit/store'
import * as z from 'zod'

/** Until a time in Unix milliseconds, the path stays its project's. */
const heldPath = z.strictObject({
  accountId: z.string(),
  clientId: z.string(),
  path: z.string(),
  until: z.number(),
})

export type HeldPath = z.infer<typeof heldPath>
export type HeldPathStore = DocumentStore<readonly HeldPath[]>

/** @throws StoreError */
export const openHeldPaths = (folder: string): Promise<HeldPathStore> =>
  openDocument<readonly HeldPath[]>(join(folder, 'held-paths'), {
    version: 1,
    initial: [],
    read: (json) => z.array(heldPath).parse(json),
  })
