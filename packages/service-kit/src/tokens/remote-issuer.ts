import type { KeyObject } from 'node:crypto'
import { identityPaths, readKeySetUrl } from '@selvedge/protocol'
import type { SignatureAlgorithm } from '@selvedge/protocol/tokens'
import type { Clock } from '../clock/clock.ts'
import type { Log } from '../log/index.ts'
import { inBackground } from '../safely/safely.ts'
import { shareRun } from '../share/share.ts'
import { readKeySet } from './key-cache.ts'
import type { Issuer } from './verifier.ts'

/**
 * How often keys are fetched: a stranger's tokens, each with another key id, must not make us knock at the issuer's door all
 * the time; two rotations in a row must not lock callers out.
 */
const ownFetches: FetchRate = { atOnce: 3, everyMs: 10_000 }
/** Milliseconds after which keys that are used are fetched again, so that one that was removed is not accepted any longer. */
const maxAgeMs = 600_000

/** A number of fetches at once, and one more each time that so many milliseconds have passed. */
interface FetchRate {
  readonly atOnce: number
  readonly everyMs: number
}

/** The keys of an issuer as they are used: by `kid`, for one algorithm. */
export type KeySet = (kid: string, algorithm: SignatureAlgorithm) => KeyObject | undefined

/** How an issuer that is not ours is asked for its keys. */
interface ForeignKeys {
  /** URL of its metadata. */
  readonly metadataUrl: string
  /** Reads a published key set. @throws Error if it is no key set */
  readonly read: (json: unknown) => KeySet
  /** Milliseconds after a fetch until its keys are not used any more, if no other fetch succeeds. */
  readonly validMs: number
  /** How often keys are fetched again for a `kid` that is not among those that were fetched. */
  readonly unknownKid: FetchRate
  /** The key set of the last successful fetch of any process; read after a fetch that failed. */
  readonly stored?: KeyStore
}

/** Where the processes of a service store the key set of an issuer that is not ours. */
export interface KeyStore {
  /** @returns with the Unix milliseconds of the fetch; undefined: there is no key set */
  load(): Promise<{ readonly keySet: unknown; readonly fetchedAt: number } | undefined>
  /** Called after each successful fetch. @param fetchedAt Unix milliseconds */
  save(fetchedAt: number): Promise<void>
}

export interface RemoteIssuerOptions {
  /** URL of the issuer, as its tokens name it. */
  readonly issuer: string
  readonly clock: Clock
  /** Gets JSON from a URL; it has its own time limit. */
  readonly getJson: (url: string) => Promise<unknown>
  /** A stored key set, so that tokens can be checked offline. */
  readonly stored?: unknown
  /** Gets each key set that differs from the one before. If it rejects, it gets the same one again with the next fetch. */
  readonly onChange?: (keySet: unknown) => void | Promise<void>
  /** Called after each attempt. @param cause why it brought no keys; undefined: it did */
  readonly onOutcome?: (cause: unknown) => void
  /** Absent: an identity service of this project. */
  readonly foreign?: ForeignKeys
}

/** Milliseconds between two log lines about the keys of one issuer. */
const logEveryMs = 600_000

/** Logs why an issuer brings no keys: at once, then every ten minutes, and when it does again. */
export function logOutcome(issuer: string, log: Log, monotonic = () => performance.now()) {
  let loggedAt: number | undefined
  return (cause: unknown): void => {
    if (cause === undefined) {
      if (loggedAt !== undefined) log.info('the keys of an issuer are here again', { issuer })
      loggedAt = undefined
    } else if (loggedAt === undefined || monotonic() - loggedAt >= logEveryMs) {
      loggedAt = monotonic()
      log.warn('the keys of an issuer are not accepted, and its tokens are refused', { issuer, cause })
    }
  }
}

export interface RemoteIssuer extends Issuer {
  /** Fetches the keys, unless that was done too often of late. Resolves with whether the last attempt brought keys. */
  refresh(): Promise<boolean>
  /** Unix milliseconds at which the keys that are used were fetched; undefined: there are no such keys. */
  fetchedAt(): number | undefined
}

/** @returns whether one more fetch may begin, which counts it */
function createFetchLimit(clock: Clock, { atOnce, everyMs }: FetchRate): () => boolean {
  let allowed = { count: atOnce, at: clock.now() }
  return () => {
    const now = clock.now()
    const earned = Math.abs(now - allowed.at) / everyMs
    allowed = { count: Math.min(atOnce, allowed.count + earned), at: now }
    if (allowed.count < 1) return false
    allowed.count--
    return true
  }
}

const readOwnKeys = (json: unknown): KeySet => {
  const keys = readKeySet(json)
  return (kid) => keys.get(kid)
}

/** Calls `onChange` with a key set that differs from the one that it got last, or that was stored. */
function createTeller(stored: unknown, onChange: RemoteIssuerOptions['onChange']) {
  let text: string | undefined = JSON.stringify(stored)
  return (keySet: unknown): void => {
    const next = JSON.stringify(keySet)
    if (next === text) return
    text = next
    onChange?.(keySet)?.catch(() => {
      if (text === next) text = undefined
    })
  }
}

/** A remote issuer: its keys are fetched from its JWKS and stored. */
export function createRemoteIssuer({
  issuer,
  clock,
  getJson,
  stored,
  onChange,
  onOutcome,
  foreign,
}: RemoteIssuerOptions): RemoteIssuer {
  const read = foreign?.read ?? readOwnKeys
  const metadataUrl = foreign?.metadataUrl ?? issuer + identityPaths.oauthMetadata
  let keys: KeySet | undefined = stored === undefined ? undefined : read(stored)
  let lastWasGood = false
  let triedAt = Number.NEGATIVE_INFINITY
  let fetchedAt: number | undefined
  const tellChange = createTeller(stored, onChange)
  const mayFetch = createFetchLimit(clock, ownFetches)
  const mayFetchAgain = foreign && createFetchLimit(clock, foreign.unknownKid)

  async function fetchKeys(): Promise<boolean> {
    triedAt = clock.now()
    try {
      const keySet = await getJson(readKeySetUrl(await getJson(metadataUrl), issuer))
      keys = read(keySet)
      fetchedAt = clock.now()
      tellChange(keySet)
      lastWasGood = true
      onOutcome?.(undefined)
      if (foreign?.stored) inBackground('remoteIssuer.save', foreign.stored.save(fetchedAt))
    } catch (cause) {
      lastWasGood = false
      onOutcome?.(cause)
      await useStored().catch(() => undefined)
    }
    return lastWasGood
  }

  /** Another process may have fetched keys that are newer than those here. @throws Error if they cannot be read */
  async function useStored(): Promise<void> {
    const found = await foreign?.stored?.load()
    if (!found || found.fetchedAt <= (fetchedAt ?? Number.NEGATIVE_INFINITY)) return
    if (Math.abs(clock.now() - found.fetchedAt) > foreign!.validMs) return
    keys = read(found.keySet)
    fetchedAt = found.fetchedAt
  }
  const run = shareRun(fetchKeys, 'issuer keys')

  const isOutdated = () =>
    foreign !== undefined && fetchedAt !== undefined && Math.abs(clock.now() - fetchedAt) > foreign.validMs
  const isDue = () => Math.abs(clock.now() - triedAt) > maxAgeMs

  function refresh(): Promise<boolean> {
    const running = run.present()
    if (running) return running
    // Keys that were fetched lately lack a `kid` that any caller may have made up.
    const isForced = keys !== undefined && !isDue()
    const may = isForced && mayFetchAgain ? mayFetchAgain() : mayFetch()
    return may ? run() : Promise.resolve(lastWasGood)
  }

  return {
    issuer,
    /** Never waits: the key counts that is known now. */
    findKey(kid, algorithm = 'ES256') {
      const key = isOutdated() ? undefined : keys?.(kid, algorithm)
      if (key && isDue()) inBackground('remoteIssuer.refresh', refresh())
      return key
    },
    refresh,
    fetchedAt: () => fetchedAt,
  }
}
