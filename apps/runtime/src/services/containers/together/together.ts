/**
 * Deploys and removes several containers as one. All of them start beside what runs and are checked; then one change of the document
 * makes them those that serve. So a power cut leaves the former containers or the next ones, never some of both.
 */
import type { Deployments } from '../../deployments/deployments.ts'
import { keyOf, type Owner } from '../../deployments/ownership.ts'
import type { ChangeParts } from '../changes.ts'
import type { DeploySteps } from '../deploy.ts'
import type { Entry } from '../entries.ts'
import type { OnceRuns } from '../once-runs.ts'
import { deployAll } from './deploy.ts'
import type { EntriesByKey, Group, TogetherParts } from './group.ts'
import { removeAll } from './remove.ts'
import { startAll, stopAll } from './start-and-stop.ts'

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
   * @param shared data of all of them together, which is removed, too
   * @throws StoreError: then nothing is removed; RpcError if data is left, which is removed at the next start of the runtime
   */
  removeTogether(
    owner: Owner,
    names: readonly string[],
    rule: string,
    shared?: Deployments['leaving'],
  ): Promise<void>
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

export function createTogether(
  parts: ChangeParts,
  steps: DeploySteps,
  onceRuns: Pick<OnceRuns, 'run'>,
): Together {
  const context: TogetherParts = { ...parts, steps, onceRuns }
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
    removeTogether: (owner, names, rule, shared = {}) =>
      inTurnsOf(owner, names, (keys, entries) => removeAll(context, owner, keys, rule, entries, shared)),
  }
}

/** In the order of the keys: two groups with a container in common never wait for each other. */
function inTurns<T>(
  { inTurn }: TogetherParts,
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
