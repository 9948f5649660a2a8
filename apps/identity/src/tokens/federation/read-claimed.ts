import { maxTokenLength } from '@selvedge/protocol/tokens'

/** What a token claims before it is verified. */
export interface Claimed {
  readonly iss: string
  readonly alg: unknown
}

/** The issuer that a token claims, and its algorithm; undefined if it is no JWT with an issuer. */
export function readClaimed(token: string): Claimed | undefined {
  if (token.length > maxTokenLength) return undefined
  const [header = '', payload = ''] = token.split('.', 2)
  try {
    const { iss } = readPart(payload)
    return typeof iss === 'string' ? { iss, alg: readPart(header).alg } : undefined
  } catch {
    return undefined
  }
}

const readPart = (part: string): Record<string, unknown> =>
  Object(JSON.parse(Buffer.from(part, 'base64url').toString()))
