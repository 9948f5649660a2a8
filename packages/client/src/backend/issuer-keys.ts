import { identityPaths, readKeySetUrl } from '@selvedge/protocol'
import { jwkOfSet, jwks } from '@selvedge/protocol/tokens'
import { readText } from '../read-text.ts'

/** Milliseconds for which a fetched set is taken as it is. */
const maxAge = 600_000
/** Fetches for the sake of unknown keys: rotations in a row must lock nobody out, strangers' tokens must not make us knock all the time. */
const fetches = { atOnce: 3, every: 10_000 }
/** Bytes of a document of the issuer; a key set has one or two thousand. */
const maxDocument = 1024 * 1024

/** The platform's key; its name is not a type everywhere. */
type VerificationKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

export interface IssuerKeys {
  /** The key of that id, fetched where needed; undefined where the issuer has none. Rejects when the issuer can't be reached and nothing is known. */
  find(kid: string): Promise<VerificationKey | undefined>
}

export function createIssuerKeys(options: {
  readonly issuer: string
  readonly fetch: typeof globalThis.fetch
  readonly now: () => number
}): IssuerKeys {
  const { issuer, fetch, now } = options
  let keys: Map<string, VerificationKey> | undefined
  let fetchedAt = Number.NEGATIVE_INFINITY
  let running: Promise<void> | undefined
  let allowed = { count: fetches.atOnce, at: now() }

  async function getJson(url: string): Promise<unknown> {
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(5000) })
    if (!response.ok) throw new Error(`${url} answered HTTP ${response.status}`)
    return JSON.parse(await readText(response, maxDocument))
  }

  async function refresh(): Promise<void> {
    const keySetUrl = readKeySetUrl(await getJson(issuer + identityPaths.oauthMetadata), issuer)
    const fetched = new Map<string, VerificationKey>()
    for (const each of jwks.parse(await getJson(keySetUrl)).keys) {
      const jwk = jwkOfSet.safeParse(each)
      if (!jwk.success) continue
      const { kid, kty, crv, x, y } = jwk.data
      const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
      const imported = crypto.subtle.importKey('jwk', { kty, crv, x, y }, algorithm, false, ['verify'])
      // A key that is no point of the curve must not spoil the others.
      const key = await imported.catch(() => undefined)
      if (key) fetched.set(kid, key)
    }
    keys = fetched
    fetchedAt = now()
  }

  /** Whether an unknown key is worth a fetch now. */
  function mayLook(): boolean {
    if (running) return true
    const earned = Math.max(0, now() - allowed.at) / fetches.every
    allowed = { count: Math.min(fetches.atOnce, allowed.count + earned), at: now() }
    if (allowed.count < 1) return false
    allowed.count--
    return true
  }

  /** One fetch at a time, whoever asks. */
  const refreshOnce = () =>
    (running ??= refresh().finally(() => {
      running = undefined
    }))

  return {
    async find(kid) {
      const age = now() - fetchedAt
      if (!keys) await refreshOnce()
      else if (age > maxAge || (!keys.has(kid) && mayLook())) await refreshOnce().catch(() => undefined)
      return keys?.get(kid)
    },
  }
}
