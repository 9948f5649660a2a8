/**
 * Reads the first version of the document, in which things were found by client and name alone, and gives it the keys of their
 * owners. Stored data is not moved: each container keeps the key of its data.
 */
import * as z from 'zod'
import { keyOf } from './ownership.ts'

const owned = { clientId: z.string(), accountId: z.string(), name: z.string() }
const byOwner = z.object({ accountId: z.string(), clientId: z.string() })

/** As much of it as changes; the rest is checked as what it becomes. */
const firstVersion = z.looseObject({
  images: z.record(z.string(), z.looseObject(owned)),
  containers: z.record(z.string(), z.looseObject({ ...owned, image: z.string(), imageId: z.string() })),
  history: z.record(z.string(), z.array(z.looseObject({ by: byOwner.nullable() }))),
})

type FirstVersion = z.infer<typeof firstVersion>

const ownerOf = ({ accountId, clientId }: z.infer<typeof byOwner>) => ({
  account_id: accountId,
  client_id: clientId,
})

export function readFirstVersion(json: unknown): unknown {
  const value = firstVersion.parse(json)
  const images = Object.values(value.images).map((image) => [keyOf(ownerOf(image), image.name), image])
  const containers = Object.entries(value.containers).map(([id, { imageId: _, ...container }]) => {
    const owner = ownerOf(container)
    const keys = { imageKey: keyOf(owner, container.image), dataKey: id }
    return [keyOf(owner, container.name), { ...container, ...keys }]
  })
  return {
    ...value,
    images: Object.fromEntries(images),
    containers: Object.fromEntries(containers),
    history: historyOf(value),
  }
}

/**
 * Each entry goes to the owner who asked for it, and what the runtime did by itself to the one who asked last. Entries that name no
 * owner, of a container that is gone, are left out.
 */
function historyOf({ history, containers }: FirstVersion): Record<string, unknown[]> {
  const all: Record<string, unknown[]> = {}
  for (const [id, entries] of Object.entries(history)) {
    let owner: z.infer<typeof byOwner> | undefined = entries.find(({ by }) => by)?.by ?? containers[id]
    for (const entry of entries) {
      owner = entry.by ?? owner
      if (!owner) continue
      const key = keyOf(ownerOf(owner), id.slice(owner.clientId.length + 1))
      ;(all[key] ??= []).push(entry)
    }
  }
  return all
}
