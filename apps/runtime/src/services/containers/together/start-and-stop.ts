/** Starts and stops containers as one. */
import { RpcError } from '@selvedge/protocol'
import type { Owner } from '../../deployments/ownership.ts'
import { separator } from '../../engines/last-output.ts'
import { completedOf, type Entry } from '../entries.ts'
import { lastWords, linesOfReason } from '../history.ts'
import type { Running } from '../instances.ts'
import { expectOfAccount } from '../owned.ts'
import type { Service } from '../service.ts'
import type { EntriesByKey, TogetherParts } from './group.ts'
import { named } from './named.ts'

export async function stopAll(
  context: TogetherParts,
  owner: Owner,
  keys: readonly string[],
  rule: string,
  entries: EntriesByKey,
): Promise<void> {
  const { store, history, onChange } = context
  const left = keys.filter((key) => !completedOf(context, key, store.value.containers[key]!))
  if (left.length === 0) return
  const happened = history.item('stopped', rule, '', owner)
  await history.changeAll(
    left.map((key) => ({
      key,
      happened,
      make: (container) => ({ ...container, wanted: 'stopped' as const, failed: null }),
    })),
  )
  onChange()
  for (const key of left) await entries.get(key)?.service?.stop()
}

/** A container that was started again, and does not serve yet. */
interface Started {
  readonly key: string
  readonly service: Service
  readonly running: Running
}

export async function startAll(
  context: TogetherParts,
  owner: Owner,
  keys: readonly string[],
  rule: string,
  entries: EntriesByKey,
): Promise<void> {
  const { store, history, accountId, onChange } = context
  const started: Started[] = []
  try {
    for (const key of keys) {
      const one = await startOne(context, key, entries.get(key)!)
      if (one) started.push(one)
    }
    if (started.length === 0) return
    await history.changeAll(
      started.map(({ key }) => ({
        key,
        happened: history.item('started', rule, `revision ${store.value.containers[key]!.revision}`, owner),
        make: (container) => {
          expectOfAccount(container, accountId())
          return { ...container, wanted: 'running' as const, failed: null }
        },
      })),
    )
  } catch (cause) {
    for (const { service, running } of started.toReversed()) await service.discard(running)
    throw cause
  }
  for (const { service, running } of started) await service.switchTo(running)
  onChange()
}

/** @returns undefined for a container that runs, or has completed */
async function startOne(context: TogetherParts, key: string, entry: Entry): Promise<Started | undefined> {
  const { store, entries: all, accountId } = context
  const container = store.value.containers[key]!
  expectOfAccount(container, accountId())
  if (completedOf(context, key, container)) return undefined
  const service = all.serviceOf(key, container)
  if (service.running()) return undefined
  try {
    return { key, service, running: await service.prepare(all.planOf(key, container)) }
  } catch (cause) {
    const { reason, message, hint } = cause as RpcError
    const detail = entry.mask.hide(message)
    const last = lastWords(detail, entry.log.tail(linesOfReason))
    const words = last.length > 0 ? `Its last lines: ${last.join(separator)}` : hint
    throw named(container.name, new RpcError(reason ?? 'container_failed', detail, { cause, hint: words }))
  }
}
