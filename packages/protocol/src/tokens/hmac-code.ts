/**
 * The form of an edge HMAC code:
 *
 *     v1.<issuing node>.<expiry>.<target>.<uri>.<mac>
 *
 * `target` and `uri` are the first 16 bytes of the SHA-256 of what they name, so that a verifier can say which of them is
 * the wrong one, and a code is short whatever the URI. `mac` is HMAC-SHA-256 over everything before it.
 */
import { nodeIdPattern } from '../methods/values.ts'

export interface HmacCode {
  /** All that the mac is over. */
  readonly signed: string
  readonly issuer: string
  /** Unix seconds. */
  readonly expiry: number
  readonly target: string
  readonly uri: string
  readonly mac: string
}

const form = /^v1\.([0-9a-f]{56})\.([1-9]\d{0,14})\.([\w-]{22})\.([\w-]{22})\.([\w-]{43})$/

/** The parts of a code, or undefined where it has another form. */
export function parseHmacCode(code: string): HmacCode | undefined {
  const match = form.exec(code)
  if (!match) return undefined
  const [, issuer, expiry, target, uri, mac] = match as unknown as [
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  return { signed: code.slice(0, code.lastIndexOf('.')), issuer, expiry: Number(expiry), target, uri, mac }
}

export function formatHmacCode(
  parts: Omit<HmacCode, 'signed' | 'mac'>,
  mac: (signed: string) => string,
): string {
  if (!nodeIdPattern.test(parts.issuer)) throw new TypeError('issuer is not a node ID')
  const signed = `v1.${parts.issuer}.${parts.expiry}.${parts.target}.${parts.uri}`
  return `${signed}.${mac(signed)}`
}
