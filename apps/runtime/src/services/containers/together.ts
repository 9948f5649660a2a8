/**
 * Deploys and removes several containers as one. All of them start beside what runs and are checked; then one change of the document
 * makes them those that serve. So a power cut leaves the former containers or the next ones, never some of both.
 */
import { type ContainerSpec, RpcError } from '@selvedge/protocol'
import { inBackground } from '@selvedge/service-kit/safely'
import { type Deployments, withImageUsed, without } from '../deployments/deployments.ts'
import { keyOf, type Owner } from '../deployments/ownership.ts'
import { separator } from '../engines/last-output.ts'
import type { ChangeParts } from './changes.ts'
import { contentsOf, type Deployment, type DeploySteps, recordFailure, switchTo } from './deploy.ts'
import { completedOf, type Entry } from './entries.ts'
import { lastWords, linesOfReason } from './history.ts'
import type { Running } from './instances.ts'
import type { OnceRuns } from './once-runs.ts'
import { expectOfAccount } from './owned.ts'
import type { Service } from './service.ts'

/** A container that ran once. */
export interface NamedCompletion {
  readonly name: string
  readonly revision: number
  readonly exitCode: number
  /** Unix milliseconds. */
  readonly at: number
}

/** Containers that are deployed together. */
interface Group {
  /** In the order of their start. */
  readonly specs: readonly ContainerSpec[]
  /** Names of containers that the same change removes, with their data. */
  readonly removed: readonly string[]
  /** Names of containers that start again even if nothing of them has changed; but for those that run once. */
  readonly renewed: readonly string[]
  /** Names of containers that run once, each with how often it is started again after a failure. */
  readonly once: ReadonlyMap<string, number>
  /** What the history has as the rule. */
  readonly rule: string
  /** Called before anything is changed, when no other change of the containers is under way. @throws RpcError to refuse */
  expect(key: string): void
  /**
   * Called before the first container starts.
   *
   * @param revisions the revision that each container has once the group is deployed, by its name
   */
  intend(revisions: ReadonlyMap<string, number>): Promise<void>
  /** Called with what ran once to its end, when all others run, and before the document has any of them. */
  complete(completions: readonly NamedCompletion[]): Promise<void>
}

export interface Together {
  /**
   * Resolves when all containers serve. Those that would not change continue.
   *
   * @throws RpcError with the name of the container that failed: then everything is as before; StoreError
   */
  deployTogether(owner: Owner, group: Group): Promise<void>
  /**
   * Removes containers with their data. Names without a container are left out.
   *
   * @param names in the order in which they stop
   * @throws StoreError: then nothing is removed; RpcError if data is left, which is removed at the next start of the runtime
   */
  removeTogether(owner: Owner, names: readonly string[], rule: string): Promise<void>
  /**
   * Starts those of the containers that do not run, one after the other. They stay started when the device restarts.
   *
   * @param names in the order of their start; names without a container are left out
   * @throws RpcError with the name of the container that failed: then those that were started stop again; StoreError
   */
  startTogether(owner: Owner, names: readonly string[], rule: string): Promise<void>
  /**
   * Stops containers, one after the other. They stay stopped when the device restarts.
   *
   * @param names in the order in which they stop; names without a container are left out
   * @throws StoreError: then nothing is stopped
   */
  stopTogether(owner: Owner, names: readonly string[], rule: string): Promise<void>
}

/** A container that was started and does not serve yet, or that ran once to its end. */
interface Prepared {
  readonly deployment: Deployment
  /** Undefined for one that ran once. */
  readonly started: { readonly service: Service; readonly running: Running } | undefined
  readonly completion: NamedCompletion | undefined
  /** Closes ports that no container has then. */
  readonly release: () => void
  /** Why it exited meanwhile; undefined while it runs. */
  readonly ended: () => string | undefined
}

type EntriesByKey = ReadonlyMap<string, Entry>

interface Context extends ChangeParts {
  readonly steps: DeploySteps
  readonly onceRuns: Pick<OnceRuns, 'run'>
}

export function createTogether(
  parts: ChangeParts,
  steps: DeploySteps,
  onceRuns: Pick<OnceRuns, 'run'>,
): Together {
  const context: Context = { ...parts, steps, onceRuns }
  const { store } = parts
  /** Changes those of the containers that are there. */
  const inTurnsOf = (
    owner: Owner,
    names: readonly string[],
    work: (keys: readonly string[], entries: EntriesByKey) => Promise<void>,
  ): Promise<void> => {
    const all = names.map((name) => keyOf(owner, name))
    return inTurns(context, all, (entries) =>
      work(
        all.filter((key) => store.value.containers[key]),
        entries,
      ),
    )
  }
  return {
    startTogether: (owner, names, rule) =>
      inTurnsOf(owner, names, (keys, entries) => startAll(context, owner, keys, rule, entries)),
    stopTogether: (owner, names, rule) =>
      inTurnsOf(owner, names, (keys, entries) => stopAll(context, owner, keys, rule, entries)),
    deployTogether: (owner, group) => {
      const keys = [...group.specs.map(({ name }) => name), ...group.removed].map((name) =>
        keyOf(owner, name),
      )
      return inTurns(context, keys, (entries) => {
        for (const key of keys) group.expect(key)
        return deployAll(context, owner, group, entries)
      })
    },
    removeTogether: (owner, names, rule) =>
      inTurnsOf(owner, names, (keys, entries) => removeAll(context, owner, keys, rule, entries)),
  }
}

/** In the order of the keys: two groups with a container in common never wait for each other. */
function inTurns<T>(
  { inTurn }: Context,
  keys: readonly string[],
  work: (entries: EntriesByKey) => Promise<T>,
): Promise<T> {
  const next = (
    [key, ...others]: readonly string[],
    entries: readonly (readonly [string, Entry])[],
  ): Promise<T> =>
    key === undefined
      ? work(new Map(entries))
      : inTurn(key, (entry) => next(others, [...entries, [key, entry]]))
  return next([...new Set(keys)].sort(), [])
}

async function deployAll(context: Context, owner: Owner, group: Group, entries: EntriesByKey): Promise<void> {
  const { store, steps } = context
  const planned = group.specs.map((spec) =>
    naming({ next: spec }, () => steps.plan(owner, keyOf(owner, spec.name), spec, group.rule)),
  )
  const isNew = (each: Deployment) => mustStart(context, group, each)
  const change: Change = {
    owner,
    rule: group.rule,
    once: group.once,
    complete: group.complete,
    deployments: planned.filter(isNew),
    removed: group.removed.map((name) => keyOf(owner, name)).filter((key) => store.value.containers[key]),
  }
  expectAll(context, store.value, change)
  const revisionOf = (each: Deployment) => (isNew(each) ? each.next.revision : each.before!.revision)
  await group.intend(new Map(planned.map((each) => [each.next.name, revisionOf(each)])))
  const data = dataOf(context, change.removed)
  const contents = change.deployments.flatMap((each) => contentsOf(store.value, each))
  await context.hold(contents, async () =>
    serve(context, await prepareAll(context, change, entries), entries),
  )
  await clear(context, change.removed, data, entries)
}

async function removeAll(
  context: Context,
  owner: Owner,
  keys: readonly string[],
  rule: string,
  entries: EntriesByKey,
): Promise<void> {
  const { history } = context
  const data = dataOf(context, keys)
  const happened = history.item('removed', rule, '', owner)
  const removed = keys.map((key) => ({ key, happened }))
  await history.putAll([], removed, () => undefined)
  context.onChange()
  const failure = await clear(context, keys, data, entries)
  if (failure !== undefined) throw failure
}

async function stopAll(
  context: Context,
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

async function startAll(
  context: Context,
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
async function startOne(context: Context, key: string, entry: Entry): Promise<Started | undefined> {
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

/** What a group changes. */
interface Change extends Pick<Group, 'once' | 'complete'> {
  readonly owner: Owner
  readonly rule: string
  /** Those that change, in the order of their start. */
  readonly deployments: readonly Deployment[]
  /** Keys. */
  readonly removed: readonly string[]
}

function expectAll({ steps }: Context, value: Deployments, { deployments, removed, once }: Change): void {
  for (const each of deployments)
    naming(each, () => {
      if (once.has(each.next.name)) expectExits(each)
      steps.expectDeployable(seenBy(value, each, deployments, removed), each)
    })
}

/** @throws RpcError `invalid_params` for what never exits by itself */
function expectExits({ content }: Deployment): void {
  if (content.kind === 'function')
    throw new RpcError('invalid_params', 'it is a function, which cannot run once', {
      hint: 'Write the restart "always", or use an image of a program that exits.',
    })
}

/** Starts all that change, and makes them those that the document has. If one fails, all of them end. */
async function prepareAll(context: Context, change: Change, entries: EntriesByKey): Promise<Prepared[]> {
  const prepared: Prepared[] = []
  try {
    for (const each of change.deployments)
      prepared.push(await prepareOne(context, each, entries.get(each.key)!, change.once.get(each.next.name)))
    await commit(context, prepared, change)
    return prepared
  } catch (cause) {
    await discardAll(context, prepared)
    throw cause
  } finally {
    for (const { release } of prepared) release()
  }
}

/** @param retries of a container that runs once; undefined for a service */
async function prepareOne(
  context: Context,
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
  { entries, engines, hold, clock, onceRuns }: Context,
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

async function commit(context: Context, prepared: readonly Prepared[], change: Change): Promise<void> {
  const { history, steps } = context
  for (const { deployment, ended } of prepared) {
    const why = ended()
    if (why !== undefined) throw named(deployment.next.name, new RpcError('container_failed', why))
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

async function discardAll(context: Context, prepared: readonly Prepared[]): Promise<void> {
  for (const { deployment, started } of prepared.toReversed()) {
    if (started) await started.service.discard(started.running)
    const { before, next, content } = deployment
    // What a first revision stored is of no use to anything else.
    if (!before) await context.removeData(next.dataKey, content.kind).catch(() => undefined)
  }
}

async function serve(
  { store, clock, schedules, onChange }: Context,
  prepared: readonly Prepared[],
  entries: EntriesByKey,
): Promise<void> {
  for (const { deployment, started } of prepared) {
    const entry = entries.get(deployment.key)!
    if (started) await switchTo(started.running, started.service, entry)
    else await endService(entry)
    store.updateLazily((value) => withImageUsed(value, deployment.next.imageKey, clock.now()))
  }
  onChange()
  if (prepared.some(({ started }) => hasTimes(started?.running))) await schedules.refresh()
}

const hasTimes = (running: Running | undefined): boolean =>
  running !== undefined && running.plan.settings['MCM.CRON'].length > 0

/** Ends the service that a container was before, which runs once now. */
async function endService(entry: Entry): Promise<void> {
  const { service } = entry
  entry.service = undefined
  await service?.stop()
}

/** The data of containers that are about to be removed. */
function dataOf({ store }: Context, keys: readonly string[]): Deployments['leaving'] {
  const { containers, contents } = store.value
  return Object.fromEntries(
    keys.map((key) => [containers[key]!.dataKey, contents[containers[key]!.digest]!.kind]),
  )
}

/** Stops what was removed, and removes its data: what fails is tried again at the next start. @returns the first failure */
async function clear(
  { removeData }: Context,
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

const sameEnv = (one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean => {
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && one[name] === other[name])
  )
}

const isChanged = ({ before, next }: Deployment): boolean =>
  before?.digest !== next.digest || before.imageKey !== next.imageKey || !sameEnv(before.env, next.env)

/** Whether a container of a group starts: another one continues, or has completed. */
function mustStart(context: Context, { once, renewed }: Group, deployment: Deployment): boolean {
  const { key, before, next } = deployment
  if (!before || isChanged(deployment)) return true
  if (once.has(next.name)) return completedOf(context, key, before) === undefined
  return before.wanted !== 'running' || before.failed !== null || renewed.includes(next.name)
}

/** The document as it will be, but with what one container replaces: so each is checked against all others. */
function seenBy(
  value: Deployments,
  { key }: Deployment,
  all: readonly Deployment[],
  removed: readonly string[],
): Deployments {
  const { [key]: before } = value.containers
  const others = Object.entries(value.containers).filter(([each]) => !removed.includes(each))
  const next = all.map((each) => [each.key, each.next] as const)
  const containers = without(Object.fromEntries([...others, ...next]), key)
  return { ...value, containers: before ? { ...containers, [key]: before } : containers }
}

const named = (name: string, cause: RpcError): RpcError =>
  new RpcError(cause.reason ?? 'container_failed', `${name}: ${cause.message}`, { cause, hint: cause.hint })

/** Refusals name the container. */
function naming<T>({ next: { name } }: { readonly next: { readonly name: string } }, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw cause instanceof RpcError ? named(name, cause) : cause
  }
}
