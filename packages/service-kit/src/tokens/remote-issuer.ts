import type { KeyObject } from 'node:crypto'
import { identityPaths, readKeySetUrl } from '@selvedge/protocol'
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
const fetches = { atOnce: 3, everyMs: 10_000 }
/** Milliseconds after which keys that are used are fetched again, so that one that was removed is not accepted any longer. */
const maxAgeMs = 600_000

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
  /** Fetches the keys, unless that was done too often of late. Gives whether the last attempt brought keys. */
  refresh(): Promise<boolean>
}

/** A remote issuer: its keys are fetched from its JWKS and stored. */
export function createRemoteIssuer({
  issuer,
  clock,
  getJson,
  stored,
  onChange,
  onOutcome,
}: RemoteIssuerOptions): RemoteIssuer {
  let keys: Map<string, KeyObject> = stored === undefined ? new Map() : readKeySet(stored)
  /** The key set that `onChange` got last, or that was stored. */
  let text: string | undefined = JSON.stringify(stored)
  let lastWasGood = false
  let triedAt = Number.NEGATIVE_INFINITY
  let allowed = { count: fetches.atOnce, at: clock.now() }

  async function fetchKeys(): Promise<boolean> {
    triedAt = clock.now()
    try {
      const keySet = await getJson(readKeySetUrl(await getJson(issuer + identityPaths.oauthMetadata), issuer))
      keys = readKeySet(keySet)
      tellChange(keySet)
      lastWasGood = true
      onOutcome?.(undefined)
    } catch (cause) {
      lastWasGood = false
      onOutcome?.(cause)
    }
    return lastWasGood
  }
  const run = shareRun(fetchKeys, 'issuer keys')

  function tellChange(keySet: unknown): void {
    const next = JSON.stringify(keySet)
    if (next === text) return
    text = next
    onChange?.(keySet)?.catch(() => {
      if (text === next) text = undefined
    })
  }

  function refresh(): Promise<boolean> {
    const running = run.present()
    if (running) return running
    const now = clock.now()
    const earned = Math.abs(now - allowed.at) / fetches.everyMs
    allowed = { count: Math.min(fetches.atOnce, allowed.count + earned), at: now }
    if (allowed.count < 1) return Promise.resolve(lastWasGood)
    allowed.count--
    return run()
  }

  return {
    issuer,
    /** Never waits: the key counts that is known now. */
    findKey(kid) {
      const key = keys.get(kid)
      if (key && Math.abs(clock.now() - triedAt) > maxAgeMs) inBackground('remoteIssuer.refresh', refresh())
      return key
    },
    refresh,
  }
}
