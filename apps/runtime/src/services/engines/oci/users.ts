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
  rangeLabel,
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
   * engine knows the container, or it failed; but for members of one app that share volumes, which have one range.
   *
   * @throws EngineError; RpcError `engine_unavailable` if no range is free, `container_failed` if its own volumes and the shared ones have
   * files of other users
   */
  choose(api: EngineApi, traits: EngineTraits, plan: Plan): Promise<{ users: Users; release(): void }>
  /** The kind that a container without volumes gets now. */
  usual(traits: EngineTraits): Users['kind']
}

export function createUsersOf(owner: string, files: SubordinateFiles): UsersOf {
  /** Chosen for containers that the engine does not know yet. */
  const reserved = new Set<{ readonly range: IdRange; readonly sharedKey: string | undefined }>()

  /** The users that the files in the volumes of some data belong to; undefined without volumes. */
  async function ownersIn(api: EngineApi, dataKey: string): Promise<Owners | undefined> {
    const path = `/volumes?${byLabel(`${labels.container}=${dataKey}`)}`
    const { Volumes } = await api.read(path, answers.volumes)
    const own = (Volumes ?? []).filter(({ Labels }) => Labels[labels.owner] === owner)
    const range = own.map(({ Labels }) => parseRange(Labels[labels.ids])).find(isRange)
    // Volumes without a label have files of users of the device: an earlier release made them, or there were no ranges.
    return range ?? (own.length > 0 ? 'device' : undefined)
  }

  async function ownersOf(api: EngineApi, { dataKey, sharedDataKey }: Plan) {
    const own = await ownersIn(api, dataKey)
    const shared = sharedDataKey === undefined ? undefined : await ownersIn(api, sharedDataKey)
    if (own !== undefined && shared !== undefined && !areSame(own, shared)) throw withOtherUsers()
    return own ?? shared
  }

  async function chooseFree(api: EngineApi, all: readonly IdRange[], seed: string): Promise<IdRange> {
    const { Volumes } = await api.read(`/volumes?${byLabel(labels.ids)}`, answers.volumes)
    const containers = await api.read(`/containers/json?all=true&${byLabel(labels.ids)}`, answers.listed)
    const known = [...(Volumes ?? []), ...containers].map(({ Labels }) => parseRange(Labels[labels.ids]))
    return chooseRange(all, [...known.filter(isRange), ...[...reserved].map(({ range }) => range)], seed)
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
      const { sharedDataKey: sharedKey } = plan
      const found = await ownersOf(api, plan)
      if (found === 'device' || (found === undefined && all.length === 0)) return fixed({ kind: 'device' })
      if (found && all.length === 0) throw withoutRanges(found)
      if (found) return fixed({ kind: 'own', range: found })
      const chosen = await chooseFree(api, all, `${owner} ${sharedKey ?? `${plan.key} ${plan.revision}`}`)
      // Another member of the app may be about to make the volumes.
      const ofMember = [...reserved].find((each) => sharedKey !== undefined && each.sharedKey === sharedKey)
      const entry = { range: ofMember?.range ?? chosen, sharedKey }
      reserved.add(entry)
      return { users: { kind: 'own', range: entry.range }, release: () => void reserved.delete(entry) }
    },
  }
}

/** Users that files in volumes belong to: a range, or the users of the device. */
type Owners = IdRange | 'device'

const areSame = (one: Owners, other: Owners): boolean =>
  one === 'device' || other === 'device' ? one === other : rangeLabel(one) === rangeLabel(other)

const withOtherUsers = (): RpcError =>
  new RpcError(
    'container_failed',
    'its own volumes belong to other user IDs than those that it shares with members of its app',
    {
      hint: 'Only members that were deployed together from the start have the same user IDs. Give it no part in the shared volumes, or remove the app with its data and deploy it again.',
    },
  )

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
