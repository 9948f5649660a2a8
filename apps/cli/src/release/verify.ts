/** Who may say what a release is. Only this file decides it; The Update Framework could take its place. */
import { verify } from 'node:crypto'
import { preAuthEncoding, readEnvelope } from './envelope.ts'
import type { ReleaseKeys } from './keys.ts'
import { type Release, readStatement, statementType } from './statement.ts'

/**
 * @param text a file of `npm run release:sign`: a DSSE envelope
 * @param keys of the installed release
 * @param nowSeconds Unix seconds
 * @throws Error with a sentence if fewer keys than the threshold have signed it, or if it is not a release
 */
export function verifyRelease(text: string, { threshold, keys }: ReleaseKeys, nowSeconds: number): Release {
  if (keys.length === 0)
    throw new Error('the installed release has no release keys, so it cannot check another one')
  const { payloadType, payload, signatures } = readEnvelope(text)
  if (payloadType !== statementType) throw new Error(`its type is not ${statementType}`)
  const signed = preAuthEncoding(payloadType, payload)
  const signers = keys.filter(({ key }) => signatures.some((sig) => verify(null, signed, key, sig)))
  const valid = signers.filter(({ expiresAt }) => nowSeconds < expiresAt)
  if (valid.length < threshold) throw new Error(describeSigners(threshold, signers.length, valid.length))
  return readStatement(payload.toString())
}

function describeSigners(threshold: number, signers: number, valid: number): string {
  const needed = threshold === 1 ? 'a release key' : `${threshold} release keys`
  if (signers >= threshold) return `it is signed, but ${signers - valid} of the release keys have expired`
  return `it is not signed by ${needed} of the installed release (${signers} of ${threshold} signatures)`
}
