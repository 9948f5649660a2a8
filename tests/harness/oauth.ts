/** Requests to the identity service as a program without any library would send them. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { dpopType, type PublicJwk } from '@selvedge/protocol/tokens'
import { systemClock } from '@selvedge/service-kit/clock'
import { createProof, signJws, thumbprint } from '@selvedge/service-kit/tokens'

export interface OAuthAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: Record<string, string> & { expires_in: number; interval: number; active: boolean }
}

export async function post(
  url: string,
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<OAuthAnswer> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(form), headers })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) }
}

export interface ProofKey {
  readonly jkt: string
  /** @param claims changes of the claims, such as an end */
  prove(
    request: {
      htm?: string
      htu: string
      nonce?: string | undefined
      accessToken?: string
      body?: string
    },
    claims?: Readonly<Record<string, unknown>>,
  ): string
}

export function createProofKey(): ProofKey {
  const pair: { privateKey: KeyObject; publicKey: KeyObject } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
  })
  const jwk = pair.publicKey.export({ format: 'jwk' }) as unknown as PublicJwk
  return {
    jkt: thumbprint(jwk),
    prove({ htm = 'POST', ...request }, claims) {
      const proof = createProof({ key: pair.privateKey, jwk, clock: systemClock, htm, ...request })
      if (!claims) return proof
      const own = JSON.parse(Buffer.from(proof.split('.')[1]!, 'base64url').toString())
      return signJws({ typ: dpopType, jwk }, { ...own, ...claims }, pair.privateKey)
    },
  }
}

/** Posts with a proof, and once more with the nonce that the service requires. */
export async function postProven(
  url: string,
  form: Record<string, string>,
  key: ProofKey,
): Promise<OAuthAnswer> {
  const first = await post(url, form, { DPoP: key.prove({ htu: url }) })
  const nonce = first.headers.get('dpop-nonce') ?? undefined
  if (first.body.error !== 'use_dpop_nonce') return first
  return post(url, form, { DPoP: key.prove({ htu: url, nonce }) })
}
