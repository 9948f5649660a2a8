/** Deploys an app: it is written down before it begins, and happens in one change of the deployments. */
import { type AppPlan, appContainerName, configBytes, RpcError } from '@selvedge/protocol'
import { findImage } from '../containers/requirements.ts'
import type { NamedCompletion } from '../containers/together/group.ts'
import type { Deployments } from '../deployments/deployments.ts'
import { appDataKey, keyOf, type Owner } from '../deployments/ownership.ts'
import type { AppParts } from './app-parts.ts'
import { type AppSecretValues, secretNamesOf, setValues } from './app-secret-values.ts'
import type { Progress } from './attempts.ts'
import { carriedOver } from './completions.ts'
import { removeSecrets } from './left-behind.ts'
import { appOf } from './member-names.ts'
import { type Member, readMembers } from './members.ts'
import { leftBy, rejoined, releaseOf, removedOf, storedFor } from './releases.ts'
import { expectAppRoom, expectNetworks, expectSameVolumes } from './requirements.ts'
import {
  type AppStore,
  committed,
  ownerOf,
  type Release,
  type StoredApp,
  type StoredApps,
  withApp,
  withoutNext,
} from './stored-apps.ts'

/** @throws as `Apps.deploy` */
export async function deployApp(
  parts: AppParts,
  owner: Owner,
  plan: AppPlan,
  values: AppSecretValues,
  progress: Progress,
): Promise<void> {
  const { store, secrets, configs } = parts
  const key = keyOf(owner, plan.name)
  const before = store.value[key]
  const names = await secretNamesOf(secrets, owner, plan, values, before?.current)
  const { current } = before ?? {}
  const members = readMembers(plan, names, current?.appVolumes)
  const deployedAt = parts.clock.now()
  const release = releaseOf({ plan, members, secretNames: names, before: current, deployedAt })
  const set: string[] = []
  try {
    await configs.store(key, plan.configs.map(configBytes))
    await setValues(secrets, owner, names, values, (name) => set.push(name))
    await deployRelease(parts, owner, { plan, key, before, release, members, progress })
  } catch (cause) {
    // The former release has values of its own.
    await removeSecrets(parts, owner, set)
    throw cause
  }
  await settle(store, key, committed)
  await removeSecrets(parts, owner, leftBy(before?.current, release))
}

interface Next {
  readonly plan: AppPlan
  /** Of the app. */
  readonly key: string
  readonly before: StoredApp | undefined
  readonly release: Release
  readonly members: readonly Member[]
  readonly progress: Progress
}

async function deployRelease(
  parts: AppParts,
  owner: Owner,
  { plan, key, before, release, members, progress }: Next,
): Promise<void> {
  const { store, deployments, containers, clock } = parts
  expectAppRoom(store.value, key, owner, release)
  expectSameVolumes(before?.current, release)
  await expectNetworks(release, members, (image) => kindOf(deployments.value, owner, image), parts.engine)
  const removed = removedOf(before, release)
  const intend = (revisions: ReadonlyMap<string, number>) =>
    store.update((all) => {
      expectAppRoom(all, key, owner, release)
      const completed = carriedOver(all[key]?.current, (service) =>
        revisions.get(appContainerName(plan.name, service)),
      )
      const next = { release: { ...release, completed }, revisions: [...revisions], removed }
      return withApp(all, key, { ...(all[key] ?? storedFor(owner, plan.name, clock.now())), next })
    })
  try {
    await containers.deployTogether(owner, {
      specs: members.map(({ spec }) => spec),
      removed,
      renewed: rejoined(before?.current, release).map((name) => appContainerName(plan.name, name)),
      rule: 'deployApp',
      expect: (containerKey) => expectOwn(parts, key, containerKey),
      intend,
      once: new Map(
        members.flatMap(({ spec, retries }) => (retries === null ? [] : [[spec.name, retries] as const])),
      ),
      onMember: (name, state, why) => {
        const member = members.find(({ spec }) => spec.name === name)
        if (member) progress.member(member.stored.service, state, why)
      },
      complete: (completions) => store.update((all) => withCompletions(all, key, completions)),
    })
  } catch (cause) {
    // What was refused before anything started changes nothing on the disk.
    if (store.value[key]?.next) await settle(store, key, (app) => withoutNext(app, noteOf(cause)))
    // What a first release put into shared volumes is of no use to anything else.
    if (!before?.current && release.appVolumes)
      await parts.engine.removeData(appDataKey(owner, plan.name)).catch(() => undefined)
    throw asBefore(plan.name, before, cause)
  }
}

/**
 * @param key of the app
 * @throws RpcError `conflict` if a container with the name of a member is not of the app
 */
function expectOwn({ store, deployments }: AppParts, key: string, containerKey: string): void {
  const holder = appOf(store.value, containerKey)
  const isOfOther = holder && keyOf(ownerOf(holder), holder.name) !== key
  if (!isOfOther && (holder?.current || !deployments.value.containers[containerKey])) return
  const name = decodeURIComponent(containerKey.slice(containerKey.lastIndexOf('/') + 1))
  throw new RpcError(
    'conflict',
    isOfOther
      ? `the container ${name} belongs to the app ${holder.name}`
      : `there is a container ${name} that does not belong to the app`,
    { hint: 'Choose another name for the app or its service, or remove what is there.' },
  )
}

/** The deployment that is under way, with members of it that ran once. */
function withCompletions(
  value: StoredApps,
  key: string,
  completions: readonly NamedCompletion[],
): StoredApps {
  const app = value[key]
  if (!app?.next) return value
  const { release } = app.next
  const completed = completions.flatMap(({ name, ...rest }) =>
    release.members
      .filter(({ service }) => appContainerName(app.name, service) === name)
      .map(({ service }) => ({ service, ...rest })),
  )
  const next = { ...app.next, release: { ...release, completed: [...release.completed, ...completed] } }
  return withApp(value, key, { ...app, next })
}

/** Written with the next change if the disk does not accept it now: the deployments decide in any case. */
export function settle(
  store: AppStore,
  key: string,
  change: (app: StoredApp) => StoredApp | undefined,
): Promise<void> {
  const apply = (value: StoredApps) => (value[key] ? withApp(value, key, change(value[key])) : value)
  return store.update(apply).catch(() => store.updateLazily(apply))
}

/** @throws RpcError `not_found` for an image that is not there */
const kindOf = (value: Deployments, owner: Owner, image: string): 'function' | 'oci' | undefined =>
  value.contents[findImage(value, owner, image).digest]?.kind

/** Characters of a note. */
const maxNote = 1000
const noteOf = (cause: unknown): string =>
  (cause instanceof RpcError ? cause.message : 'the state could not be written').slice(0, maxNote)

function asBefore(name: string, before: StoredApp | undefined, cause: unknown): unknown {
  if (!(cause instanceof RpcError)) return cause
  const state = before?.current
    ? `The app ${name} is as before: revision ${before.current.revision}.`
    : 'Nothing was deployed.'
  return new RpcError(cause.reason, cause.message, { cause, hint: `${state} ${cause.hint}` })
}
