/** The published keys of an issuer. A slow or unavailable issuer delays no request with a cached key. */
import { identityPaths, readKeySetUrl } from '@selvedge/protocol'
import { type PublicJwk, readJwks, thumbprintInput } from '@selvedge/protocol/tokens'
import { readText } from '../read-text.ts'

/** Ages and durations. */
const times = {
  /** Age from which the keys are fetched again. */
  freshMs: 600_000,
  /** Age from which they are not used any more: every token that they have signed has expired. */
  longestMs: 86_400_000,
  /** Longest fetch. */
  fetchMs: 5000,
  /** How long a fetch may hold up requests that known keys may decide, or any request once a fetch has failed. */
  waitMs: 500,
  /** Pause after a fetch that failed. It doubles with each one. */
  pauseMs: 250,
  longestPauseMs: 60_000,
} as const
/** Fetches because of unknown keys: several rotations in a row are followed, tokens of strangers cause few requests. */
const fetches = { atOnce: 3, everyMs: 10_000 }
/** Bytes of a document of the issuer; a key set has one or two thousand. */
const maxDocumentBytes = 1024 * 1024

/** The platform's key; its name is not a type everywhere. */
export type VerificationKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

interface KnownKey {
  readonly key: VerificationKey
  readonly text: string
}

export interface IssuerKeys {
  /**
   * The key with an id, from a set that is fetched if necessary; undefined if the issuer has no key with this ID. The same key is
   * the same object, also after another fetch.
   *
   * @throws Error if the issuer cannot be asked, and what is known does not decide
   */
  find(kid: string): Promise<VerificationKey | undefined>
}

export function createIssuerKeys(options: {
  readonly issuer: string
  readonly fetch: typeof globalThis.fetch
  /** Unix milliseconds. */
  readonly now: () => number
}): IssuerKeys {
  const { issuer, fetch, now } = options
  let keys: Map<string, KnownKey> | undefined
  let keySetUrl: string | undefined
  let fetchedAt = Number.NEGATIVE_INFINITY
  let running: Promise<void> | undefined
  /** Resolves when the running fetch is complete, or the timeout for requests has expired. */
  let waited = Promise.resolve()
  let failed: { readonly cause: unknown; readonly count: number; readonly at: number } | undefined
  let allowed = { count: fetches.atOnce, at: now() }
  /** Milliseconds since a moment; a clock that was set back or ahead is no reason to wait. */
  const since = (moment: number) => Math.abs(now() - moment)

  async function getJson(url: string, signal: AbortSignal): Promise<unknown> {
    const response = await fetch(url, { redirect: 'error', signal })
    if (!response.ok) throw new Error(`${url} answered HTTP ${response.status}`)
    return JSON.parse(await readText(response, maxDocumentBytes))
  }

  async function refresh(signal: AbortSignal): Promise<void> {
    keySetUrl ??= readKeySetUrl(await getJson(issuer + identityPaths.oauthMetadata, signal), issuer)
    const fetched = new Map<string, KnownKey>()
    for (const [kid, jwk] of readJwks(await getJson(keySetUrl, signal))) {
      const text = thumbprintInput(jwk)
      const known = keys?.get(kid)
      const key = known?.text === text ? known.key : await importKey(jwk)
      if (key) fetched.set(kid, { key, text })
    }
    keys = fetched
    fetchedAt = now()
  }

  /** One fetch at a time. Rejects with the cause of the last failure while its pause lasts. */
  function refreshOnce(): Promise<void> {
    if (running) return running
    if (failed && since(failed.at) < pauseAfter(failed.count)) return Promise.reject(failed.cause)
    const signal = AbortSignal.timeout(times.fetchMs)
    // Whatever `fetch` was given, it may not hold up requests for longer.
    running = Promise.race([refresh(signal), aborted(signal)]).then(
      () => {
        running = failed = undefined
      },
      (cause) => {
        running = keySetUrl = undefined
        failed = { cause, count: (failed?.count ?? 0) + 1, at: now() }
        throw cause
      },
    )
    waited = pause(times.waitMs, running)
    return running
  }

  /**
   * Has the keys fetched, and waits for them; a failure leaves those that are known.
   * @param isNeeded whether the request needs a key that is not cached
   */
  async function refreshSoon(isNeeded: boolean): Promise<void> {
    const ended = refreshOnce().catch(() => undefined)
    await (isNeeded && !failed ? ended : waited)
  }

  /** Whether an unknown key is worth a fetch now. */
  function mayLook(): boolean {
    if (running) return true
    const earned = since(allowed.at) / fetches.everyMs
    allowed = { count: Math.min(fetches.atOnce, allowed.count + earned), at: now() }
    if (allowed.count < 1) return false
    allowed.count--
    return true
  }

  return {
    async find(kid) {
      if (!keys || since(fetchedAt) > times.longestMs) await refreshOnce()
      else if (since(fetchedAt) > times.freshMs || (!keys.has(kid) && mayLook()))
        await refreshSoon(!keys.has(kid))
      const key = keys?.get(kid)?.key
      // A key that is not known may be a new one, unless the issuer has just answered.
      if (!key && (failed || running)) throw failed?.cause ?? new Error(`${issuer} has not answered yet`)
      return key
    },
  }
}

const pauseAfter = (failures: number): number =>
  Math.min(times.longestPauseMs, times.pauseMs * 2 ** (failures - 1))

/** A key that is no point of the curve is left out, and does not spoil the others. */
const importKey = ({ kty, crv, x, y }: PublicJwk): Promise<VerificationKey | undefined> =>
  crypto.subtle
    .importKey('jwk', { kty, crv, x, y }, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['verify'])
    .catch(() => undefined)

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

/** Resolves after a time, or when a promise settles before. */
function pause(milliseconds: number, work: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    work.then(end, end)
  })
}
