/** Starts the containers of a group beside those that run, and makes them those that the document has. */
import { RpcError } from '@selvedge/protocol'
import { inBackground } from '@selvedge/service-kit/safely'
import { type Deployment, recordFailure } from '../deploy.ts'
import type { Entry } from '../entries.ts'
import type { Running } from '../instances.ts'
import type { Service } from '../service.ts'
import { type Change, expectAll } from './change.ts'
import type { EntriesByKey, NamedCompletion, TogetherParts } from './group.ts'
import { named } from './named.ts'

/** A container that was started and does not serve yet, or that ran once to its end. */
export interface Prepared {
  readonly deployment: Deployment
  /** Undefined for one that ran once. */
  readonly started: { readonly service: Service; readonly running: Running } | undefined
  readonly completion: NamedCompletion | undefined
  /** Closes ports that no container has then. */
  readonly release: () => void
  /** Why it exited meanwhile; undefined while it runs. */
  readonly ended: () => string | undefined
}

/** Starts all that change, and makes them those that the document has. If one fails, all of them end. */
export async function prepareAll(
  context: TogetherParts,
  change: Change,
  entries: EntriesByKey,
): Promise<Prepared[]> {
  const prepared: Prepared[] = []
  try {
    for (const each of change.deployments)
      prepared.push(await prepareShown(context, change, each, entries.get(each.key)!))
    await commit(context, prepared, change)
    return prepared
  } catch (cause) {
    await discardAll(context, prepared)
    throw cause
  } finally {
    for (const { release } of prepared) release()
  }
}

async function prepareShown(
  context: TogetherParts,
  { once, onMember }: Change,
  deployment: Deployment,
  entry: Entry,
): Promise<Prepared> {
  const { name } = deployment.next
  onMember(name, 'starting')
  try {
    const prepared = await prepareOne(context, deployment, entry, once.get(name))
    onMember(name, prepared.completion ? 'completed' : 'healthy')
    return prepared
  } catch (cause) {
    // The message has the name of the container before the reason.
    onMember(name, 'failed', (cause as Error).message.slice(`${name}: `.length))
    throw cause
  }
}

/** @param retries of a container that runs once; undefined for a service */
async function prepareOne(
  context: TogetherParts,
  deployment: Deployment,
  entry: Entry,
  retries: number | undefined,
): Promise<Prepared> {
  const { key, next } = deployment
  let release = (): void => undefined
  try {
    release = await context.ports.claim(next)
    if (retries !== undefined) return { ...(await complete(context, deployment, retries)), release }
    const service = context.steps.serviceFor(deployment)
    const running = await service.prepare(context.entries.planOf(key, next))
    let why: string | undefined
    const noted = running.ended.then((ending) => {
      why = ending.why
    })
    inBackground('containers.together', noted)
    return {
      ...{ deployment, release, completion: undefined },
      started: { service, running },
      ended: () => why,
    }
  } catch (cause) {
    release()
    const failure = cause as RpcError
    throw named(next.name, await recordFailure(context, deployment, entry, failure).catch(() => failure))
  }
}

async function complete(
  { entries, engines, hold, clock, onceRuns }: TogetherParts,
  deployment: Deployment,
  retries: number,
): Promise<Omit<Prepared, 'release'>> {
  const { key, next, content } = deployment
  const parts = { engine: engines[content.kind], hold, now: () => performance.now() }
  await onceRuns.run(parts, entries.planOf(key, next), retries)
  const { name, revision } = next
  return {
    ...{ deployment, started: undefined, ended: () => undefined },
    completion: { name, revision, exitCode: 0, at: clock.now() },
  }
}

async function commit(context: TogetherParts, prepared: readonly Prepared[], change: Change): Promise<void> {
  const { history, steps } = context
  for (const { deployment, ended } of prepared) {
    const why = ended()
    if (why === undefined) continue
    change.onMember(deployment.next.name, 'failed', why)
    throw named(deployment.next.name, new RpcError('container_failed', why))
  }
  const completions = prepared.flatMap(({ completion }) => (completion ? [completion] : []))
  if (completions.length > 0) await change.complete(completions)
  await history.putAll(
    change.deployments.map((each) => ({
      ...each,
      // What ran once is not to start, also for a runtime that does not know of it.
      container: change.once.has(each.next.name) ? { ...each.next, wanted: 'stopped' as const } : each.next,
      happened: steps.happened(each),
    })),
    change.removed.map((key) => ({ key, happened: history.item('removed', change.rule, '', change.owner) })),
    (value) => expectAll(context, value, change),
  )
}

async function discardAll(context: TogetherParts, prepared: readonly Prepared[]): Promise<void> {
  for (const { deployment, started } of prepared.toReversed()) {
    if (started) await started.service.discard(started.running)
    const { before, next, content } = deployment
    // What a first revision stored is of no use to anything else.
    if (!before) await context.removeData(next.dataKey, content.kind).catch(() => undefined)
  }
}
