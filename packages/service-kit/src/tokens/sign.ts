import type { KeyObject } from 'node:crypto'
import { signEs256 } from './es256.ts'

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A compact JWS (RFC 7515 § 7.1) with ES256. */
export function signJws(
  header: { typ: string; kid?: string; jwk?: object },
  payload: object,
  key: KeyObject,
): string {
  const signingInput = `${encode({ alg: 'ES256', ...header })}.${encode(payload)}`
  return `${signingInput}.${signEs256(key, signingInput).toString('base64url')}`
}
