import type { KeyObject } from 'node:crypto'
import { identityPaths, readKeySetUrl } from '@selvedge/protocol'
import type { Clock } from '../clock/clock.ts'
import { shareRun } from '../share/share.ts'
import { readKeySet } from './key-cache.ts'
import type { Issuer } from './verifier.ts'

/**
 * How often keys are fetched: a stranger's tokens, each with another key id, must not make us knock at the issuer's door all
 * the time; two rotations in a row must not lock anybody out.
 */
const fetches = { atOnce: 3, every: 10_000 }

export interface RemoteIssuerOptions {
  /** URL of the issuer, as its tokens name it. */
  readonly issuer: string
  readonly clock: Clock
  /** Gets JSON from a URL; it has its own time limit. */
  readonly getJson: (url: string) => Promise<unknown>
  /** A key set kept from before, so that tokens can be checked offline. */
  readonly stored?: unknown
  /** Gets each key set that differs from the one before. */
  readonly onChange?: (keySet: unknown) => void
}

export interface RemoteIssuer extends Issuer {
  /** Fetches the keys, unless that was done too often of late. Gives whether the last attempt brought keys. */
  refresh(): Promise<boolean>
}

/** An issuer elsewhere: its keys come from its JWKS, and are kept. */
export function createRemoteIssuer({
  issuer,
  clock,
  getJson,
  stored,
  onChange,
}: RemoteIssuerOptions): RemoteIssuer {
  let keys: Map<string, KeyObject> = stored === undefined ? new Map() : readKeySet(stored)
  let text = stored === undefined ? '' : JSON.stringify(stored)
  let lastWasGood = false
  let allowed = { count: fetches.atOnce, at: clock.now() }

  async function fetchKeys(): Promise<boolean> {
    let good = false
    try {
      const keySet = await getJson(readKeySetUrl(await getJson(issuer + identityPaths.oauthMetadata), issuer))
      keys = readKeySet(keySet)
      good = true
      if (JSON.stringify(keySet) !== text) {
        text = JSON.stringify(keySet)
        onChange?.(keySet)
      }
      return true
    } catch {
      return false
    } finally {
      lastWasGood = good
    }
  }
  const run = shareRun(fetchKeys)

  return {
    issuer,
    findKey: (kid) => keys.get(kid),
    refresh() {
      const running = run.present()
      if (running) return running
      const now = clock.now()
      const earned = Math.abs(now - allowed.at) / fetches.every
      allowed = { count: Math.min(fetches.atOnce, allowed.count + earned), at: now }
      if (allowed.count < 1) return Promise.resolve(lastWasGood)
      allowed.count--
      return run()
    },
  }
}
