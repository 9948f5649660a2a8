import type { KeyObject } from 'node:crypto'
import { identityPaths, metadata } from '@selvedge/protocol'
import type { Clock } from '../clock/clock.ts'
import { readKeySet } from './key-cache.ts'
import type { Issuer } from './verifier.ts'

/** Milliseconds between two attempts to fetch keys: a stranger's tokens must not make us knock at the issuer's door. */
const pauseAfter = { success: 10_000, failure: 1000 }

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
  /** Fetches the keys, unless that was done a moment ago. Gives whether the last attempt brought keys. */
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
  let last = { at: Number.NEGATIVE_INFINITY, good: false }
  let running: Promise<boolean> | undefined

  async function fetchKeys(): Promise<boolean> {
    let good = false
    try {
      const { issuer: named, jwks_uri } = metadata.parse(await getJson(issuer + identityPaths.oauthMetadata))
      if (named !== issuer) return false
      const keySet = await getJson(jwks_uri)
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
      last = { at: clock.now(), good }
      running = undefined
    }
  }

  return {
    issuer,
    findKey: (kid) => keys.get(kid),
    refresh() {
      if (running) return running
      const pause = last.good ? pauseAfter.success : pauseAfter.failure
      if (Math.abs(clock.now() - last.at) < pause) return Promise.resolve(last.good)
      running = fetchKeys()
      return running
    },
  }
}
