/** What a start of the runtime finds of apps: the deployments decide whether a deployment of an app happened. */
import { appSecretVersionDigits } from '@selvedge/protocol'
import type { Deployments } from '../deployments/deployments.ts'
import { keyOf, type Owner } from '../deployments/ownership.ts'
import type { OwnedName, Secrets } from '../secrets/secrets.ts'
import { memberKey } from './member-names.ts'
import type { ReleaseFiles } from './release-files.ts'
import {
  type AppStore,
  committed,
  ownerOf,
  type StoredApp,
  type StoredApps,
  withoutNext,
} from './stored-apps.ts'

/**
 * What the deployments say about apps of an earlier run: a deployment that was under way has happened or not, and an app without any
 * container was being removed.
 *
 * @returns secrets of releases that are not there any more, and those of deployments that did not happen
 */
export async function recoverApps(
  store: AppStore,
  { containers }: Deployments,
  secrets: Pick<Secrets, 'versioned'>,
  releases: Pick<ReleaseFiles, 'former'>,
): Promise<OwnedName[]> {
  const before = store.value
  const settled = Object.entries(before).flatMap(([key, app]): [string, StoredApp][] => {
    const after = isCommitted(app, containers) ? committed(app) : withoutNext(app, app.note)
    const isThere = after?.current?.members.some((each) => Object.hasOwn(containers, memberKey(after, each)))
    return after && isThere ? [[key, after]] : []
  })
  const next = Object.fromEntries(settled)
  const isSame =
    settled.length === Object.keys(before).length &&
    settled.every(([key, app]) => before[key] === app || sameRelease(before[key], app))
  const apply = () => next
  if (!isSame) await store.update(apply).catch(() => store.updateLazily(apply))
  const isUsed = ({ owner, name }: OwnedName) => isOfRelease(next, releases, owner, name)
  const left = Object.values(before).flatMap(secretsOf)
  // Values are stored before the release that they are for.
  return [...left, ...secrets.versioned(appSecretVersionDigits)].filter((each) => !isUsed(each))
}

/** Not those of a release that never was: its owner may have set them. */
const secretsOf = (app: StoredApp): OwnedName[] =>
  (app.current?.secrets ?? []).map((name) => ({ owner: ownerOf(app), name }))

const sameRelease = (one: StoredApp | undefined, other: StoredApp): boolean =>
  one?.next === null && other.next === null && one.current?.revision === other.current?.revision

function isCommitted(app: StoredApp, containers: Deployments['containers']): boolean {
  if (!app.next) return false
  const owner = ownerOf(app)
  const { revisions, removed } = app.next
  return (
    revisions.every(([name, revision]) => (containers[keyOf(owner, name)]?.revision ?? 0) >= revision) &&
    removed.every((name) => !Object.hasOwn(containers, keyOf(owner, name)))
  )
}

/** The name of an app has no dot. */
export const appOfSecret = (name: string): string => name.split('.', 1)[0]!

/** Whether a secret is of the present release of an app, or of the former one. */
export function isOfRelease(
  apps: StoredApps,
  releases: Pick<ReleaseFiles, 'former'>,
  owner: Owner,
  name: string,
): boolean {
  const key = keyOf(owner, appOfSecret(name))
  const current = Object.hasOwn(apps, key) ? apps[key]!.current : null
  if (!current) return false
  return [current, releases.former(key, current.revision)].some((each) => each?.secrets.includes(name))
}
