import type { KeyObject } from 'node:crypto'
import { signEs256 } from './es256.ts'

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Signs payloads under one header, which is encoded once. */
export function createJwsSigner(
  header: { readonly typ: string; readonly kid?: string; readonly jwk?: object },
  key: KeyObject,
): (payload: object) => string {
  const encodedHeader = encode({ alg: 'ES256', ...header })
  return (payload) => {
    const signingInput = `${encodedHeader}.${encode(payload)}`
    return `${signingInput}.${signEs256(key, signingInput).toString('base64url')}`
  }
}

/** A compact JWS (RFC 7515 § 7.1) with ES256. */
export const signJws = (
  header: Parameters<typeof createJwsSigner>[0],
  payload: object,
  key: KeyObject,
): string => createJwsSigner(header, key)(payload)
