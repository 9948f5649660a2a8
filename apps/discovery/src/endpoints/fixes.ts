import { discoveryPaths, type Fix, type FixReceipt, OAuthError, readFixes } from '@selvedge/protocol'
import { createAddressSet } from '@selvedge/service-kit/address-set'
import type { SteadyClock } from '@selvedge/service-kit/clock'
import type { HotPath } from '@selvedge/service-kit/http-app'
import type { Registry } from '../registry/registry.ts'
import type { Tracks } from '../registry/tracks.ts'
import type { SessionNode, Sessions } from '../sessions/sessions.ts'
import type { LocationStore } from '../stores/location-store.ts'
import { readJson } from './read-json.ts'

/** Milliseconds by which a fix may be ahead of this service's clock. */
const toleranceMs = 60_000

export interface FixesParts {
  readonly clock: SteadyClock
  readonly store: LocationStore
  readonly registry: Registry
  readonly tracks: Tracks
  readonly sessions: Sessions
}

/** Answers reports; see {@link fixesEndpoint}. */
export interface ReportsEndpoint extends HotPath {
  readonly answer: (...request: Parameters<HotPath['answer']>) => Promise<FixReceipt>
}

/** `POST /v1/fixes`: a node reports its location or a keep-alive, always for the node of the session. */
export function fixesEndpoint({ clock, store, registry, tracks, sessions }: FixesParts): ReportsEndpoint {
  /** The fixes from before its end, as long as it is not deleted: a jump of the clock ends no track. */
  async function addToTrack({ nodeId, accountId, term, trackUntil }: SessionNode, fixes: readonly Fix[]) {
    const isBeforeItsEnd = ({ fixedAt }: Fix) => fixedAt < trackUntil
    if (trackUntil <= clock.past() || !fixes.some(isBeforeItsEnd)) return
    const [known] = await store.last(accountId, [nodeId])
    const isNew = ({ fixedAt }: Fix) => fixedAt > (known?.fixedAt ?? -1)
    await tracks.add(
      { nodeId, term },
      fixes.filter((fix) => isBeforeItsEnd(fix) && isNew(fix)),
    )
  }

  return {
    path: discoveryPaths.fixes,
    takes: 'json',
    trustedProxies: createAddressSet([]),
    async answer({ authorization, body }): Promise<FixReceipt> {
      const request = { authorization, method: 'POST', path: discoveryPaths.fixes, body }
      const node = sessions.nodeOf(request)
      const { nodeId, nodeName, accountId, sharing, term, sentAt } = node
      const receivedAt = clock.now()
      const fixes = readReport(body)
      let newest: Fix | undefined
      for (const fix of fixes) {
        if (fix.fixedAt > receivedAt + toleranceMs) {
          const detail = `a fix of ${new Date(fix.fixedAt).toISOString()} is in the future; it is ${new Date(receivedAt).toISOString()} here`
          throw new OAuthError('invalid_request', detail)
        }
        if (!newest || fix.fixedAt > newest.fixedAt) newest = fix
      }
      if (!newest) {
        registry.heard(nodeId)
        return { accepted: 0, newest: -1 }
      }
      // The track first: a report that is refused because it can't be stored is sent again, and then its fixes have to be new still.
      await addToTrack(node, fixes)
      const location = { ...newest, nodeId, nodeName, accountId, sharing, receivedAt, heardAt: sentAt, term }
      const [before = -1] = await store.put([location])
      if (before === 'left')
        throw new OAuthError(
          'invalid_token',
          'the session started before the node left the account; start a new session',
        )
      registry.heard(nodeId)
      const isNew = ({ fixedAt }: Fix) => fixedAt > before
      const accepted = fixes.length === 1 ? Number(isNew(newest)) : fixes.filter(isNew).length
      return { accepted, newest: Math.max(before, newest.fixedAt) }
    },
  }
}

function readReport(body: string): readonly Fix[] {
  const fixes = readFixes(readJson(body))
  if (fixes) return fixes
  throw new OAuthError(
    'invalid_request',
    'the body is neither a fix {"longitude":…,"latitude":…,"speed":…,"bearing":…,"fixedAt":…} nor a list of at most 100 of them, in their ranges',
  )
}
