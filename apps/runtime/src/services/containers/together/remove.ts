/** Removes containers as one, with their data. */
import type { Deployments } from '../../deployments/deployments.ts'
import type { Owner } from '../../deployments/ownership.ts'
import type { EntriesByKey, TogetherParts } from './group.ts'

/** @param shared data of all of them together */
export async function removeAll(
  context: TogetherParts,
  owner: Owner,
  keys: readonly string[],
  rule: string,
  entries: EntriesByKey,
  shared: Deployments['leaving'],
): Promise<void> {
  const { history } = context
  const data = { ...dataOf(context, keys), ...shared }
  const happened = history.item('removed', rule, '', owner)
  const removed = keys.map((key) => ({ key, happened }))
  await history.putAll([], removed, () => undefined, shared)
  context.onChange()
  const failure = await clear(context, keys, data, entries)
  if (failure !== undefined) throw failure
}

/** The data of containers that are about to be removed. */
export function dataOf({ store }: TogetherParts, keys: readonly string[]): Deployments['leaving'] {
  const { containers, contents } = store.value
  return Object.fromEntries(
    keys.map((key) => [containers[key]!.dataKey, contents[containers[key]!.digest]!.kind]),
  )
}

/** Stops what was removed, and removes its data: what fails is tried again at the next start. @returns the first failure */
export async function clear(
  { removeData }: TogetherParts,
  keys: readonly string[],
  data: Deployments['leaving'],
  entries: EntriesByKey,
): Promise<unknown> {
  let failure: unknown
  for (const key of keys) await entries.get(key)?.service?.stop()
  for (const [dataKey, kind] of Object.entries(data))
    await removeData(dataKey, kind).catch((cause: unknown) => {
      failure ??= cause
    })
  return failure
}
