/** Which containers belong to which app, and by which names its members find each other. */
import { appContainerName } from '@selvedge/protocol'
import { keyOf } from '../deployments/ownership.ts'
import type { Release, StoredApp, StoredApps, StoredMember } from './stored-apps.ts'

/** How an instance of a member finds the others. */
export interface MemberNames {
  /** Key of the container with a name: that of the service, or an alias on a common network. Undefined without one. */
  find(name: string): string | undefined
  /** Whether it may connect to a container: they have a network in common. While an app is deployed, by the next release. */
  reaches(key: string): boolean
}

const releasesOf = ({ current, next }: StoredApp): Release[] => [
  ...(next ? [next.release] : []),
  ...(current ? [current] : []),
]

/** The key of the container of a member. */
export const memberKey = (app: StoredApp, { service }: StoredMember): string => keyIn(app, service)

const keyIn = ({ accountId, clientId, name }: StoredApp, service: string): string =>
  keyOf({ account_id: accountId, client_id: clientId }, appContainerName(name, service))

/** The app that a container belongs to, also while it is deployed for the first time. @param key of the container */
export const appOf = (apps: StoredApps, key: string): StoredApp | undefined =>
  Object.values(apps).find(
    (app) =>
      // Each question for a name comes here: only apps with the first part of the name are searched.
      key.startsWith(keyIn(app, '')) &&
      releasesOf(app).some(({ members }) => members.some((member) => memberKey(app, member) === key)),
  )

/** Whether two members have a network in common. */
export const haveCommon = (one: StoredMember, other: StoredMember): boolean =>
  one.networks.some(({ network }) => other.networks.some((each) => each.network === network))

/** Whether the names of a member lead to it for another one, on a network that both have. */
function isCalled(member: StoredMember, name: string, asking: StoredMember): boolean {
  const common = member.networks.filter(({ network }) =>
    asking.networks.some((each) => each.network === network),
  )
  if (common.length === 0) return false
  return (
    member.service.toLowerCase() === name ||
    common.some(({ aliases }) => aliases.some((each) => each.toLowerCase() === name))
  )
}

/** The member of a release that a name leads to. A service comes before the aliases of others. */
function findIn(app: StoredApp, { members }: Release, key: string, name: string): string | undefined {
  const asking = members.find((member) => memberKey(app, member) === key)
  if (!asking) return undefined
  const called = members.filter((member) => isCalled(member, name, asking))
  const found = called.find(({ service }) => service.toLowerCase() === name) ?? called[0]
  return found && memberKey(app, found)
}

/**
 * The names that a member of an app finds. While an app is deployed, those of the next release come first.
 *
 * @param key of the container
 * @returns undefined for a container that no other member shares a network with
 */
export function memberNames(apps: () => StoredApps, key: string): MemberNames | undefined {
  const find = (name: string): string | undefined => {
    const app = appOf(apps(), key)
    if (!app) return undefined
    for (const release of releasesOf(app)) {
      const found = findIn(app, release, key, name.toLowerCase())
      if (found !== undefined) return found
    }
    return undefined
  }
  const app = appOf(apps(), key)
  const isJoined = app !== undefined && releasesOf(app).some((release) => hasOthers(app, release, key))
  const reaches = (other: string): boolean => {
    const present = appOf(apps(), key)
    const [release] = present ? releasesOf(present) : []
    const [asking, asked] = [key, other].map((each) =>
      release?.members.find((member) => memberKey(present!, member) === each),
    )
    return asking !== undefined && asked !== undefined && asking !== asked && haveCommon(asking, asked)
  }
  return isJoined ? { find, reaches } : undefined
}

/** Whether a member has a network in common with another one. */
function hasOthers(app: StoredApp, { members }: Release, key: string): boolean {
  const own = members.find((member) => memberKey(app, member) === key)
  return own !== undefined && members.some((other) => other !== own && haveCommon(own, other))
}
