/** Releases of an app, from its plan, and how the next one differs from the one before. */
import { type AppPlan, appContainerName, appSecretName } from '@selvedge/protocol'
import type { Owner } from '../deployments/ownership.ts'
import { haveCommon } from './member-names.ts'
import type { Member } from './members.ts'
import type { Release, StoredApp, StoredMember } from './stored-apps.ts'

export const storedFor = ({ account_id, client_id }: Owner, name: string, created: number): StoredApp => ({
  accountId: account_id,
  clientId: client_id,
  name,
  created,
  current: null,
  next: null,
  note: null,
})

interface ReleaseParts {
  readonly plan: AppPlan
  readonly members: readonly Member[]
  readonly secretNames: ReadonlyMap<string, string>
  readonly before: Release | null | undefined
  /** Unix milliseconds. */
  readonly deployedAt: number
}

export const releaseOf = ({ plan, members, secretNames, before, deployedAt }: ReleaseParts): Release => ({
  revision: (before?.revision ?? 0) + 1,
  deployedAt,
  members: members.map(({ stored }) => stored),
  completed: [],
  ...appVolumesOf(before, members),
  secrets: plan.secrets
    .filter(({ from }) => from !== 'project')
    .map((secret) => secretNames.get(secret.name) ?? appSecretName(plan.name, secret)),
})

function appVolumesOf(
  before: Release | null | undefined,
  members: readonly Member[],
): Pick<Release, 'appVolumes'> {
  const all = new Set([...(before?.appVolumes ?? []), ...members.flatMap(({ appVolumes }) => appVolumes)])
  return all.size === 0 ? {} : { appVolumes: [...all] }
}

type WithSecrets = Pick<Release, 'secrets'> | null | undefined

/** Secrets of releases that others do not have. */
export function leftBy(releases: readonly WithSecrets[], others: readonly WithSecrets[]): string[] {
  const namesOf = (all: readonly WithSecrets[]) => new Set(all.flatMap((each) => each?.secrets ?? []))
  const stays = namesOf(others)
  return [...namesOf(releases)].filter((name) => !stays.has(name))
}

/** Services with other networks than before, or with the first other member on one: their rules are set when they start. */
export function rejoined(before: Release | null | undefined, next: Release): string[] {
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
export function removedOf(before: StoredApp | undefined, { members }: Release): string[] {
  const stays = new Set(members.map(({ service }) => service))
  return (before?.current?.members ?? [])
    .filter(({ service }) => !stays.has(service))
    .map(({ service }) => appContainerName(before!.name, service))
}
