import type { KeyObject } from 'node:crypto'
import { identityPaths, metadata } from '@selvedge/protocol'
import type { Clock } from '../clock/clock.ts'
import { readKeySet } from './key-cache.ts'
import type { Issuer } from './verifier.ts'

/** Milliseconds between two attempts to fetch keys: a stranger's tokens must not make us knock at the issuer's door. */
const pause = 10_000

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
  let triedAt = Number.NEGATIVE_INFINITY
  let running: Promise<boolean> | undefined

  async function fetchKeys(): Promise<boolean> {
    try {
      const { issuer: named, jwks_uri } = metadata.parse(await getJson(issuer + identityPaths.oauthMetadata))
      if (named !== issuer) return false
      const keySet = await getJson(jwks_uri)
      keys = readKeySet(keySet)
      if (JSON.stringify(keySet) !== text) {
        text = JSON.stringify(keySet)
        onChange?.(keySet)
      }
      triedAt = clock.now()
      return true
    } catch {
      return false
    } finally {
      running = undefined
    }
  }

  return {
    issuer,
    findKey: (kid) => keys.get(kid),
    refresh() {
      if (running) return running
      if (Math.abs(clock.now() - triedAt) < pause) return Promise.resolve(false)
      return (running = fetchKeys())
    },
  }
}
