/**
 * Apps on the device: containers that are deployed and removed as one. A deployment is written down before it begins, and happens in
 * one change of the deployments: at the next start, these decide whether it did.
 */
import { type AppPlan, type AppRecord, appContainerName, appSecretName, RpcError } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import type { Containers } from '../containers/containers.ts'
import { findImage } from '../containers/requirements.ts'
import type { NamedCompletion } from '../containers/together/group.ts'
import type { DeploymentStore, Deployments } from '../deployments/deployments.ts'
import { idOf, isKeyOf, isOwnedBy, keyOf, type Owner } from '../deployments/ownership.ts'
import type { OwnedName, Secrets } from '../secrets/secrets.ts'
import { createTurns } from '../turns.ts'
import { type AppSecretValues, secretNamesOf, setValues } from './app-secret-values.ts'
import { carriedOver } from './completions.ts'
import { appOf, haveCommon, memberKey } from './member-names.ts'
import { type Member, readMembers } from './members.ts'
import { appOfSecret, isOfRelease } from './recovery.ts'
import { expectAppRoom, expectNetworks, expectSameVolumes, type JoiningEngine } from './requirements.ts'
import {
  type AppStore,
  committed,
  ownerOf,
  type Release,
  type StoredApp,
  type StoredApps,
  type StoredMember,
  withApp,
  withoutNext,
} from './stored-apps.ts'

export interface Apps {
  /**
   * Resolves when all members serve.
   *
   * @param values of secrets of the plan; they are removed again if the deployment fails
   * @throws RpcError with the member that failed: then the app is as before; StoreError
   */
  deploy(owner: Owner, plan: AppPlan, values?: AppSecretValues): Promise<AppRecord>
  list(owner: Owner): Promise<AppRecord[]>
  /** @throws RpcError `not_found` */
  get(owner: Owner, name: string): Promise<AppRecord>
  /**
   * Starts the members that do not run, in the order of the plan. Resolves when all of them serve.
   *
   * @throws RpcError `not_found`; with the member that failed: then the app is as before; StoreError
   */
  start(owner: Owner, name: string): Promise<AppRecord>
  /**
   * Stops all members, in reverse order; they stay stopped when the device restarts.
   *
   * @throws RpcError `not_found`; StoreError
   */
  stop(owner: Owner, name: string): Promise<AppRecord>
  /** @throws RpcError `not_found`, `engine_unavailable`; StoreError */
  remove(owner: Owner, name: string): Promise<{ name: string }>
  /** Removes secrets that `recoverApps` returned, if no deployment of this run has them. Never rejects. */
  dropSecrets(left: readonly OwnedName[]): Promise<void>
  /** Removes the records of the apps of an account. @throws StoreError */
  forget(accountId: string): Promise<void>
}

export interface AppParts {
  readonly store: AppStore
  readonly deployments: Pick<DeploymentStore, 'value'>
  readonly containers: Pick<
    Containers,
    'deployTogether' | 'removeTogether' | 'startTogether' | 'stopTogether' | 'get' | 'usersOfSecret'
  >
  readonly secrets: Pick<Secrets, 'remove' | 'set' | 'list' | 'versionOf'>
  readonly engine: JoiningEngine
  readonly clock: Pick<Clock, 'now'>
}

/** Maximum changes of one app that wait for each other. */
const maxQueue = 16

export function createApps(parts: AppParts): Apps {
  const { store } = parts
  const turns = createTurns(maxQueue)
  const inTurn = <T>(owner: Owner, name: string, work: () => Promise<T>) =>
    turns.take(keyOf(owner, name), work)
  return {
    deploy: (owner, plan, values = []) => inTurn(owner, plan.name, () => deploy(parts, owner, plan, values)),
    list: (owner) =>
      Promise.all(
        Object.values(store.value).flatMap((app) =>
          app.current && isOwnedBy(app, owner) ? [recordOf(parts, app, app.current)] : [],
        ),
      ),
    get: (owner, name) => get(parts, owner, name),
    start: (owner, name) =>
      inTurn(owner, name, async () => {
        await parts.containers.startTogether(owner, membersOf(store, owner, name), 'startApp')
        return get(parts, owner, name)
      }),
    stop: (owner, name) =>
      inTurn(owner, name, async () => {
        await parts.containers.stopTogether(owner, membersOf(store, owner, name).toReversed(), 'stopApp')
        return get(parts, owner, name)
      }),
    remove: (owner, name) => inTurn(owner, name, () => remove(parts, owner, name)),
    async dropSecrets(left) {
      // A deployment with the same value has the same secret.
      for (const { owner, name } of left)
        await inTurn(owner, appOfSecret(name), () => dropSecret(parts, owner, name)).catch(() => undefined)
    },
    async forget(accountId) {
      if (Object.keys(store.value).some((key) => isKeyOf(key, accountId)))
        await store.update((all) =>
          Object.fromEntries(Object.entries(all).filter(([key]) => !isKeyOf(key, accountId))),
        )
    },
  }
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
function settle(
  store: AppStore,
  key: string,
  change: (app: StoredApp) => StoredApp | undefined,
): Promise<void> {
  const apply = (value: StoredApps) => (value[key] ? withApp(value, key, change(value[key])) : value)
  return store.update(apply).catch(() => store.updateLazily(apply))
}

async function recordOf(
  { deployments, containers }: AppParts,
  app: StoredApp,
  { revision, deployedAt, members }: Release,
): Promise<AppRecord> {
  const owner = ownerOf(app)
  const shown = members.map(async (member) => ({
    service: member.service,
    names: [...new Set(member.networks.flatMap(({ aliases }) => aliases))],
    networks: member.networks.map(({ network }) => network),
    dependsOn: member.dependsOn,
    container: Object.hasOwn(deployments.value.containers, memberKey(app, member))
      ? await containers.get(owner, appContainerName(app.name, member.service))
      : null,
  }))
  const { clientId, name, created, note } = app
  const times = { revision, created, deployedAt: isoTime(deployedAt) }
  return { id: idOf(app), clientId, name, ...times, note, members: await Promise.all(shown) }
}

/** @throws RpcError `not_found` */
function present(
  { value }: Pick<AppStore, 'value'>,
  owner: Owner,
  name: string,
): { key: string; app: StoredApp } {
  const key = keyOf(owner, name)
  const app = Object.hasOwn(value, key) ? value[key] : undefined
  if (app) return { key, app }
  throw new RpcError('not_found', `there is no app ${JSON.stringify(name)} of client ${owner.client_id}`)
}

async function get(parts: AppParts, owner: Owner, name: string): Promise<AppRecord> {
  const { app } = present(parts.store, owner, name)
  if (app.current) return recordOf(parts, app, app.current)
  throw new RpcError('not_found', `the app ${JSON.stringify(name)} is being deployed for the first time`)
}

/** Names of the containers of an app, in the order of their start. @throws RpcError `not_found` */
const membersOf = (store: Pick<AppStore, 'value'>, owner: Owner, name: string): string[] =>
  (present(store, owner, name).app.current?.members ?? []).map(({ service }) =>
    appContainerName(name, service),
  )

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

async function deploy(
  parts: AppParts,
  owner: Owner,
  plan: AppPlan,
  values: AppSecretValues,
): Promise<AppRecord> {
  const { store, secrets } = parts
  const key = keyOf(owner, plan.name)
  const before = store.value[key]
  const names = await secretNamesOf(secrets, owner, plan, values, before?.current)
  const members = readMembers(plan, names)
  const release = releaseOf(plan, members, names, (before?.current?.revision ?? 0) + 1, parts.clock.now())
  const set: string[] = []
  try {
    await setValues(secrets, owner, names, values, (name) => set.push(name))
    await deployRelease(parts, owner, { plan, key, before, release, members })
  } catch (cause) {
    // The former release has values of its own.
    await removeSecrets(parts, owner, set)
    throw cause
  }
  await settle(store, key, committed)
  await removeSecrets(parts, owner, leftBy(before?.current, release))
  return get(parts, owner, plan.name)
}

/** Secrets of the former release that the next one does not have. */
const leftBy = (before: Release | null | undefined, next: Release): string[] =>
  (before?.secrets ?? []).filter((name) => !next.secrets.includes(name))

interface Next {
  readonly plan: AppPlan
  /** Of the app. */
  readonly key: string
  readonly before: StoredApp | undefined
  readonly release: Release
  readonly members: readonly Member[]
}

async function deployRelease(
  parts: AppParts,
  owner: Owner,
  { plan, key, before, release, members }: Next,
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
      complete: (completions) => store.update((all) => withCompletions(all, key, completions)),
    })
  } catch (cause) {
    // What was refused before anything started changes nothing on the disk.
    if (store.value[key]?.next) await settle(store, key, (app) => withoutNext(app, noteOf(cause)))
    throw asBefore(plan.name, before, cause)
  }
}

async function remove(parts: AppParts, owner: Owner, name: string): Promise<{ name: string }> {
  const { store, deployments, containers } = parts
  const { key, app } = present(store, owner, name)
  const { secrets = [] } = app.current ?? {}
  const names = membersOf(store, owner, name).toReversed()
  const [outcome] = await Promise.allSettled([containers.removeTogether(owner, names, 'removeApp')])
  // What was removed is removed, even if its data is still there: the next start of the runtime removes that.
  const isGone = names.every((each) => !Object.hasOwn(deployments.value.containers, keyOf(owner, each)))
  if (isGone) await settle(store, key, () => undefined)
  if (outcome.status === 'rejected') throw outcome.reason
  await removeSecrets(parts, owner, secrets)
  return { name }
}

/** Those that another container uses stay, as do those that are gone already. */
async function removeSecrets(
  {
    containers,
    secrets,
  }: Pick<AppParts, 'secrets'> & { readonly containers: Pick<Containers, 'usersOfSecret'> },
  owner: Owner,
  names: readonly string[],
): Promise<void> {
  for (const name of names)
    if (containers.usersOfSecret(owner, name).length === 0)
      await secrets.remove(owner, name, () => undefined).catch(() => undefined)
}

async function dropSecret(parts: AppParts, owner: Owner, name: string): Promise<void> {
  if (!isOfRelease(parts.store.value, owner, name)) await removeSecrets(parts, owner, [name])
}

const storedFor = ({ account_id, client_id }: Owner, name: string, created: number): StoredApp => ({
  accountId: account_id,
  clientId: client_id,
  name,
  created,
  current: null,
  next: null,
  note: null,
})

const releaseOf = (
  plan: AppPlan,
  members: readonly Member[],
  secretNames: ReadonlyMap<string, string>,
  revision: number,
  deployedAt: number,
): Release => ({
  revision,
  deployedAt,
  members: members.map(({ stored }) => stored),
  completed: [],
  secrets: plan.secrets
    .filter(({ from }) => from !== 'project')
    .map((secret) => secretNames.get(secret.name) ?? appSecretName(plan.name, secret)),
})

/** Services with other networks than before, or with the first other member on one: their rules are set when they start. */
function rejoined(before: Release | null | undefined, next: Release): string[] {
  const networksOf = ({ networks }: StoredMember) =>
    networks
      .map(({ network }) => network)
      .toSorted()
      .join()
  const isJoined = ({ members }: Release, one: StoredMember) =>
    members.some((other) => other.service !== one.service && haveCommon(one, other))
  return next.members
    .filter((member) => {
      const former = before?.members.find(({ service }) => service === member.service)
      return (
        former &&
        (networksOf(former) !== networksOf(member) || isJoined(before!, former) !== isJoined(next, member))
      )
    })
    .map(({ service }) => service)
}

/** Names of the containers of the former release that the next one does not have. */
function removedOf(before: StoredApp | undefined, { members }: Release): string[] {
  const stays = new Set(members.map(({ service }) => service))
  return (before?.current?.members ?? [])
    .filter(({ service }) => !stays.has(service))
    .map(({ service }) => appContainerName(before!.name, service))
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
