/** Deploys a release of an app: it is written down before it begins, and happens in one change of the deployments. */
import { appContainerName, RpcError } from '@selvedge/protocol'
import type { Deployment } from '../containers/deploy.ts'
import { findImage } from '../containers/requirements.ts'
import type { NamedCompletion } from '../containers/together/group.ts'
import type { Deployments } from '../deployments/deployments.ts'
import { appDataKey, keyOf, type Owner } from '../deployments/ownership.ts'
import type { AppParts } from './app-parts.ts'
import type { Progress } from './attempts.ts'
import { carriedOver } from './completions.ts'
import { dropUnused, removeSecrets } from './left-behind.ts'
import { appOf } from './member-names.ts'
import type { ReleaseMember } from './members.ts'
import type { ReleaseFile } from './release-files.ts'
import { leftBy, rejoined, removedOf, storedFor } from './releases.ts'
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

interface Next {
  /** Of the app. */
  readonly name: string
  readonly key: string
  readonly before: StoredApp | undefined
  readonly release: Release
  readonly members: readonly ReleaseMember[]
  readonly progress: Progress
  /** What the history has as the rule. */
  readonly rule: string
  /** Whether members start again also if nothing of them has changed. */
  readonly isRenewed?: boolean
}

/**
 * Deploys a release, and removes what it leaves behind: secrets that neither it nor the former one has.
 *
 * @throws as `Apps.deploy`
 */
export async function deployRelease(parts: AppParts, owner: Owner, next: Next): Promise<void> {
  const { store, releases } = parts
  const { key, before, release } = next
  const earlier = before?.current ? releases.former(key, before.current.revision) : undefined
  await deployMembers(parts, owner, next)
  await settle(store, key, committed)
  const former = releases.former(key, release.revision)
  await removeSecrets(parts, owner, leftBy([before?.current, earlier], [release, former]))
  await dropUnused(parts, key)
}

async function deployMembers(parts: AppParts, owner: Owner, next: Next): Promise<void> {
  const { store, deployments, containers, clock } = parts
  const { name, key, before, release, members, progress } = next
  expectAppRoom(store.value, key, owner, release)
  expectSameVolumes(before?.current, release)
  await expectNetworks(release, members, (member) => kindOf(deployments.value, owner, member), parts.engine)
  const removed = removedOf(before, release)
  const intend = async (revisions: ReadonlyMap<string, number>, planned: readonly Deployment[]) => {
    await parts.releases.store(key, fileOf(release, members, planned))
    await store.update((all) => {
      expectAppRoom(all, key, owner, release)
      const completed = carriedOver(all[key]?.current, (service) =>
        revisions.get(appContainerName(name, service)),
      )
      const intended = { release: { ...release, completed }, revisions: [...revisions], removed }
      return withApp(all, key, { ...(all[key] ?? storedFor(owner, name, clock.now())), next: intended })
    })
  }
  try {
    await containers.deployTogether(owner, {
      specs: members.map(({ spec }) => spec),
      removed,
      formerImages: new Map(members.flatMap(({ spec, former }) => (former ? [[spec.name, former]] : []))),
      renewed: next.isRenewed
        ? members.map(({ spec }) => spec.name)
        : rejoined(before?.current, release).map((each) => appContainerName(name, each)),
      rule: next.rule,
      expect: (containerKey) => expectOwn(parts, key, containerKey),
      intend,
      once: new Map(
        members.flatMap(({ spec, retries }) => (retries === null ? [] : [[spec.name, retries] as const])),
      ),
      onMember: (container, state, why) => {
        const member = members.find(({ spec }) => spec.name === container)
        if (member) progress.member(member.stored.service, state, why)
      },
      complete: (completions) => store.update((all) => withCompletions(all, key, completions)),
    })
  } catch (cause) {
    // What was refused before anything started changes nothing on the disk.
    if (store.value[key]?.next) await settle(store, key, (app) => withoutNext(app, noteOf(cause)))
    // What a first release put into shared volumes is of no use to anything else.
    if (!before?.current && release.appVolumes)
      await parts.engine.removeData(appDataKey(owner, name)).catch(() => undefined)
    throw asBefore(name, before, cause)
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
const kindOf = (value: Deployments, owner: Owner, { spec, former }: ReleaseMember) =>
  former ? former.content.kind : value.contents[findImage(value, owner, spec.image).digest]?.kind

/** The release as it is stored, to deploy it again. */
const fileOf = (
  release: Release,
  members: readonly ReleaseMember[],
  planned: readonly Deployment[],
): ReleaseFile => ({
  release,
  containers: planned.map(({ next: { name, image, imageKey, env }, content }, at) => ({
    ...{ name, image, imageKey, env, content },
    retries: members[at]!.retries,
  })),
})

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
