/** The locations of the devices of an account, from the discovery service: fetched for a page, and followed while it is open. */
import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { type AccountFix, accountFixes, discoveryPaths, type Track, track } from '@selvedge/protocol'
import { discoveryAudience, type PersonClaims, personProfile } from '@selvedge/protocol/tokens'
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import { readJson } from '@selvedge/service-kit/http'
import type { Log } from '@selvedge/service-kit/log'
import { createOutboundFetch, type Outbound } from '@selvedge/service-kit/network'
import { inBackground } from '@selvedge/service-kit/safely'
import { createWorkCounts } from '@selvedge/service-kit/work'
import type { SigningKeys } from '../../registry/keys/signing-keys.ts'
import { bodyOf, followEvents, openLongAnswer } from './discovery-stream.ts'

export interface Places {
  /** Last fixes of some nodes of an account; undefined if the discovery service does not respond. */
  find(accountId: string, nodeIds: readonly string[]): Promise<ReadonlyMap<string, AccountFix> | undefined>
  /** The locations of all nodes of an account, as the discovery service sends them; undefined if it does not respond, or too many read them already. */
  all(accountId: string): Promise<Readable | undefined>
  /** The last points of the track of a node; undefined if there is no track, or the discovery service does not respond. */
  track(accountId: string, nodeId: string): Promise<Track | undefined>
  /** Sends every new fix of an account until it is stopped. */
  watch(accountId: string, listener: (fix: AccountFix) => void): () => void
  stop(): void
}

export interface PlacesParts {
  /** URL of the discovery service. */
  readonly url: string
  readonly network: Outbound
  readonly clock: Clock
  readonly log: Log
  readonly keys: SigningKeys
  readonly issuer: () => string
}

/** Milliseconds for an answer, and between two attempts to follow. */
const times = { answerMs: 10_000, pauseMs: 2000 }
/** Lifetime of a token of this service for the discovery service, in seconds. */
const tokenSeconds = 120
/** Maximum parallel responses with all locations of one account: a client that does not read occupies one for five minutes. */
const maxReading = 8
/** Points of a track that the console shows. */
const maxTrackPoints = 2000

export function createPlaces({ url, network, clock, log, keys, issuer }: PlacesParts): Places {
  const fetch = createOutboundFetch(network)
  const watched = new Map<string, { listeners: Set<(fix: AccountFix) => void>; abort: AbortController }>()
  const reading = createWorkCounts()

  /** A token of this service, which states that the request is for a person of the account. */
  function authorization(accountId: string): Record<string, string> {
    const now = seconds(clock)
    const claims: PersonClaims = {
      iss: issuer(),
      sub: accountId,
      aud: discoveryAudience,
      client_id: 'selvedge-console',
      azp: 'selvedge-console',
      scope: 'edge:clusters',
      iat: now,
      exp: now + tokenSeconds,
      jti: randomUUID(),
      auth_time: now,
      account_id: accountId,
      sid: randomUUID(),
    }
    return { Authorization: `Bearer ${keys.sign(personProfile.typ, claims)}` }
  }

  const follow = (accountId: string, tell: (fix: AccountFix) => void, signal: AbortSignal) =>
    followEvents(fetch, url + discoveryPaths.accountStream, authorization(accountId), signal, (json) => {
      const fix = accountFixes.element.safeParse(json)
      if (fix.success) tell(fix.data)
    })

  async function keepFollowing(accountId: string, tell: (fix: AccountFix) => void, signal: AbortSignal) {
    while (!signal.aborted) {
      const begin = performance.now()
      await follow(accountId, tell, signal).catch((cause: Error) => {
        if (!signal.aborted) log.debug('the discovery service is not followed', { reason: cause.message })
      })
      // A stream ends when its token expires, and the next one begins at once. After a failure there is a pause.
      if (performance.now() - begin < tokenSeconds * 1000)
        await new Promise((resolve) => setTimeout(resolve, times.pauseMs).unref())
    }
  }

  /** @returns undefined for whatever is not what was requested */
  async function get<T>(accountId: string, path: string, read: (json: unknown) => T): Promise<T | undefined> {
    try {
      const response = await fetch(url + path, {
        headers: authorization(accountId),
        redirect: 'error',
        signal: AbortSignal.timeout(times.answerMs),
      })
      return read(await readJson(response))
    } catch {
      return undefined
    }
  }

  return {
    find: (accountId, nodeIds) =>
      get(accountId, `${discoveryPaths.accountFixes}?nodes=${nodeIds.join(',')}`, (json) => {
        const fixes = accountFixes.parse(json)
        return new Map(fixes.map((fix) => [fix.nodeId, fix]))
      }),
    track: (accountId, nodeId) =>
      get(accountId, `${discoveryPaths.accountTrackOf(nodeId)}?limit=${maxTrackPoints}`, (json) =>
        track.parse(json),
      ),
    async all(accountId) {
      if (reading.of(accountId) >= maxReading) return undefined
      const onEnd = reading.begin(accountId)
      const answer = openLongAnswer(
        fetch,
        url + discoveryPaths.accountPlaces,
        authorization(accountId),
        onEnd,
      )
      const response = await answer.catch(() => undefined)
      return response && bodyOf(response)
    },
    watch(accountId, listener) {
      let entry = watched.get(accountId)
      if (!entry) {
        const { listeners, abort } = (entry = { listeners: new Set(), abort: new AbortController() })
        watched.set(accountId, entry)
        const tell = (fix: AccountFix) => {
          for (const each of listeners) each(fix)
        }
        inBackground('places.follow', keepFollowing(accountId, tell, abort.signal))
      }
      const { listeners, abort } = entry
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        abort.abort()
        watched.delete(accountId)
      }
    },
    stop() {
      for (const { abort } of watched.values()) abort.abort()
      watched.clear()
    },
  }
}
