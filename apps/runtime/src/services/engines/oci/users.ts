/** Decides which users of the device the users in a container are, and stores it in the engine. */
import { RpcError } from '@selvedge/protocol'
import type { Plan } from '../engine.ts'
import * as answers from './answers.ts'
import { labels } from './create-body.ts'
import type { EngineApi } from './engine-api.ts'
import type { EngineTraits } from './engine-traits.ts'
import {
  chooseRange,
  type IdRange,
  parseRange,
  rangesHint,
  readRanges,
  type SubordinateFiles,
} from './id-ranges.ts'
import type { Users } from './profile.ts'

const byLabel = (label: string): string => `filters=${encodeURIComponent(JSON.stringify({ label: [label] }))}`

const isRange = (range: IdRange | undefined): range is IdRange => range !== undefined

export interface UsersOf {
  /**
   * The users of a new container. Resolves with a range that no other container gets until `release` is called, which is to be when the
   * engine knows the container, or it failed.
   *
   * @throws EngineError; RpcError `engine_unavailable` if no range is free
   */
  choose(api: EngineApi, traits: EngineTraits, plan: Plan): Promise<{ users: Users; release(): void }>
  /** The kind that a container without volumes gets now. */
  usual(traits: EngineTraits): Users['kind']
}

export function createUsersOf(owner: string, files: SubordinateFiles): UsersOf {
  /** Chosen for containers that the engine does not know yet. */
  const reserved = new Set<IdRange>()

  /** Labels of the volumes that a container has already. */
  async function volumesOf(api: EngineApi, { dataKey }: Plan) {
    const path = `/volumes?${byLabel(`${labels.container}=${dataKey}`)}`
    const { Volumes } = await api.read(path, answers.volumes)
    return (Volumes ?? []).filter(({ Labels }) => Labels[labels.owner] === owner)
  }

  async function chooseFree(api: EngineApi, all: readonly IdRange[], seed: string): Promise<IdRange> {
    const { Volumes } = await api.read(`/volumes?${byLabel(labels.ids)}`, answers.volumes)
    const containers = await api.read(`/containers/json?all=true&${byLabel(labels.ids)}`, answers.listed)
    const known = [...(Volumes ?? []), ...containers].map(({ Labels }) => parseRange(Labels[labels.ids]))
    return chooseRange(all, [...known.filter(isRange), ...reserved], seed)
  }

  const withoutOwnUsers = ({ isRootless, isRemapped }: EngineTraits): Users =>
    isRootless || isRemapped ? { kind: 'engine' } : { kind: 'device' }

  const mayHaveOwn = ({ isPodman, isRootless }: EngineTraits) => isPodman && !isRootless

  return {
    usual: (traits) =>
      mayHaveOwn(traits) && readRanges(files).length > 0 ? 'own' : withoutOwnUsers(traits).kind,
    async choose(api, traits, plan) {
      const fixed = (users: Users) => ({ users, release: () => undefined })
      if (!mayHaveOwn(traits)) return fixed(withoutOwnUsers(traits))
      const all = readRanges(files)
      const volumes = await volumesOf(api, plan)
      const range = volumes.map(({ Labels }) => parseRange(Labels[labels.ids])).find(isRange)
      if (range && all.length === 0) throw withoutRanges(range)
      if (range) return fixed({ kind: 'own', range })
      // Volumes without a label have files of users of the device: an earlier release made them, or there were no ranges.
      if (volumes.length > 0 || all.length === 0) return fixed({ kind: 'device' })
      const chosen = await chooseFree(api, all, `${owner} ${plan.key} ${plan.revision}`)
      reserved.add(chosen)
      return { users: { kind: 'own', range: chosen }, release: () => void reserved.delete(chosen) }
    },
  }
}

const withoutRanges = ({ uid }: IdRange): RpcError =>
  new RpcError(
    'engine_unavailable',
    `the files in its volumes belong to users from ${uid}, and /etc/subuid and /etc/subgid have no user IDs for containers any more`,
    { hint: rangesHint },
  )

/** The users of a container that runs, by its labels. @param proven labels of a container that this runtime made */
export function usersIn(proven: Readonly<Record<string, string>>, traits: EngineTraits): Users {
  const range = parseRange(proven[labels.ids])
  if (range) return { kind: 'own', range }
  return traits.isRootless || traits.isRemapped ? { kind: 'engine' } : { kind: 'device' }
}
