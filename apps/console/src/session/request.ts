/** Requests to the console, signed with the key of this browser. Every request that needs a session is sent here. */
import { createKeyStore } from './key.ts'
import { createProof } from './proof.ts'

interface Init {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal
}

/** `fetch` with a proof. */
export type SignedFetch = (url: string, init?: Init) => Promise<Response>

/** Milliseconds for which a nonce is used; the service accepts it for 120 s. */
const nonceLifeMs = 90_000

export const keys = createKeyStore()
export const signedFetch = createSignedFetch()

interface Nonce {
  readonly value: string
  /** Of `performance.now`. */
  readonly at: number
}

/** The one that came with the page, in the header `Server-Timing`; undefined where the browser does not show it. */
function nonceOfPage(): Nonce | undefined {
  const [page] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  const value = page?.serverTiming?.find(({ name }) => name === 'nonce')?.description
  return value ? { value, at: page!.responseStart } : undefined
}

function createSignedFetch(): SignedFetch {
  let nonce = nonceOfPage()

  const takeNonce = ({ headers }: Response) => {
    const value = headers.get('dpop-nonce')
    if (value !== null) nonce = { value, at: performance.now() }
  }
  /** A fresh one, since the first request without would be refused. */
  async function nonceFor(signal: AbortSignal | undefined): Promise<string | undefined> {
    const age = nonce ? performance.now() - nonce.at : Number.POSITIVE_INFINITY
    if (age > nonceLifeMs)
      takeNonce(await fetch('/console/nonce', { redirect: 'error', ...(signal && { signal }) }))
    return nonce?.value
  }

  return async (path, { method = 'GET', headers = {}, body, signal } = {}) => {
    const url = new URL(path, location.origin)
    for (let attempt = 1; ; attempt++) {
      const given = await nonceFor(signal)
      const proof = await createProof(await keys.get(), { method, url, nonce: given, body })
      const response = await fetch(url, {
        method,
        headers: { ...headers, DPoP: proof },
        redirect: 'error',
        ...(body !== undefined && { body }),
        ...(signal && { signal }),
      })
      takeNonce(response)
      if (attempt === 2 || !(await wantsNonce(response))) return response
    }
  }
}

/** Whether the service requires the same request with another nonce (RFC 9449 § 8): the one of this answer. */
async function wantsNonce(response: Response): Promise<boolean> {
  if (response.ok) return false
  const answer = (await response
    .clone()
    .json()
    .catch(() => undefined)) as { error?: unknown } | undefined
  return answer?.error === 'use_dpop_nonce'
}
