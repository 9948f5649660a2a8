/** Which members of apps have run once to their end. A member that has completed is stored as stopped, so nothing starts it again. */
import { appOf, memberKey } from './member-names.ts'
import type { Completion, Release, StoredApps } from './stored-apps.ts'

/**
 * How a member completed, in a revision of its container.
 *
 * @param key of the container
 * @returns undefined for a container that is no member, is a service, or has not completed
 */
export function completionOf(apps: StoredApps, key: string, revision: number): Completion | undefined {
  const app = appOf(apps, key)
  if (!app) return undefined
  for (const release of [app.next?.release, app.current]) {
    const member = release?.members.find((each) => memberKey(app, each) === key)
    const found =
      member &&
      release?.completed.find((each) => each.service === member.service && each.revision === revision)
    if (found) return found
  }
  return undefined
}

/**
 * The completions of a release that the next one has, too: those of members that do not run again.
 *
 * @param revisionOf the revision that the container of a service has in the next release
 */
export const carriedOver = (
  before: Release | null | undefined,
  revisionOf: (service: string) => number | undefined,
): Completion[] =>
  (before?.completed ?? []).filter(({ service, revision }) => revisionOf(service) === revision)
