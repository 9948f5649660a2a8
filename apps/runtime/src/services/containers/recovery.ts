/** Recovers what an earlier run of the runtime left: instances that still run, containers that were being removed. */
import type { Content } from '../deployments/deployments.ts'
import { without } from '../deployments/deployments.ts'
import type { Entries, EntryParts } from './entries.ts'

type Parts = Pick<EntryParts, 'store' | 'engines' | 'storage'>

/** Removes the volumes and the storage of a removed container. */
export async function removeData(
  { store, engines, storage }: Parts,
  dataKey: string,
  kind: Content['kind'],
): Promise<void> {
  await engines[kind].removeData(dataKey)
  if (kind === 'function') await storage.remove(dataKey)
  store.updateLazily((value) => ({ ...value, leaving: without(value.leaving, dataKey) }))
}

/**
 * Each engine keeps the instances that may run and ends all others. Then the data of removed containers is removed.
 *
 * @param onNotRecovered called when something could not be removed; it is tried again at the next start
 */
export async function recover(
  parts: Parts,
  { mayContinue }: Entries,
  onNotRecovered: (details: object) => void,
): Promise<void> {
  const { containers, contents, leaving } = parts.store.value
  const running = new Map(
    Object.entries(containers)
      .filter(([, container]) => mayContinue(container))
      .map(([key, { revision }]) => [key, revision]),
  )
  const digests = new Set(Object.keys(contents))
  const kinds = new Set<Content['kind']>([
    'function',
    ...Object.values(contents).map(({ kind }) => kind),
    // What was removed may still run.
    ...Object.values(leaving),
  ])
  for (const kind of kinds)
    await parts.engines[kind].recover(running, digests).catch((cause) => onNotRecovered({ kind, cause }))
  await removeLeaving(parts, onNotRecovered)
}

/** Removes the data of all containers that were removed. @param onNotRecovered as in {@link recover} */
export async function removeLeaving(parts: Parts, onNotRecovered: (details: object) => void): Promise<void> {
  for (const [dataKey, kind] of Object.entries(parts.store.value.leaving))
    await removeData(parts, dataKey, kind).catch((cause) => onNotRecovered({ dataKey, cause }))
}
