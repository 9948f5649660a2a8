import { type KeyObject, sign } from 'node:crypto'
import type { AppIdAlgorithm } from '@selvedge/protocol/tokens'
import { signEs256 } from './es256.ts'

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** RFC 7518 §§ 3.3 and 3.4. Node signs with PKCS #1 v1.5 by default. */
const signatures: Readonly<Record<AppIdAlgorithm, (key: KeyObject, text: string) => Buffer>> = {
  ES256: signEs256,
  RS256: (key, text) => sign('sha256', Buffer.from(text), key),
}

/**
 * Signs payloads under one header, which is encoded once.
 *
 * @param algorithm of the signature; the key has to be of the kind that it needs
 */
export function createJwsSigner(
  header: { readonly typ: string; readonly kid?: string; readonly jwk?: object },
  key: KeyObject,
  algorithm: AppIdAlgorithm = 'ES256',
): (payload: object) => string {
  const encodedHeader = encode({ alg: algorithm, ...header })
  const signText = signatures[algorithm]
  return (payload) => {
    const signingInput = `${encodedHeader}.${encode(payload)}`
    return `${signingInput}.${signText(key, signingInput).toString('base64url')}`
  }
}

/** A compact JWS (RFC 7515 § 7.1) with ES256. */
export const signJws = (
  header: Parameters<typeof createJwsSigner>[0],
  payload: object,
  key: KeyObject,
): string => createJwsSigner(header, key)(payload)
