/** Who a token is of, as its claims state it. The service that gets the token checks it; this only shows it. */
import { parseJws } from '@selvedge/protocol/tokens'

export interface Bearer {
  /** Address of the person; null for a token that does not state it. */
  readonly email: string | null
  readonly accountId: string | null
  readonly clientId: string | null
  readonly nodeId: string | null
  readonly scopes: readonly string[]
  /** ISO 8601. */
  readonly expiresAt: string | null
}

/** @returns undefined if it is not a JWT */
export function readBearer(token: string): Bearer | undefined {
  try {
    const { payload } = parseJws(token)
    const text = (name: string) => (typeof payload[name] === 'string' ? payload[name] : null)
    const audience = typeof payload.aud === 'string' ? payload.aud : null
    return {
      email: text('email'),
      accountId: text('account_id'),
      // A developer ID token is for its client.
      clientId: text('client_id') ?? (text('email') === null ? null : audience),
      nodeId: text('node_id'),
      scopes: (text('scope') ?? '').split(' ').filter((each) => each !== ''),
      expiresAt: readTime(payload.exp),
    }
  } catch {
    return undefined
  }
}

const maxSeconds = 8_640_000_000_000

const readTime = (seconds: unknown): string | null =>
  typeof seconds === 'number' && Math.abs(seconds) <= maxSeconds
    ? new Date(seconds * 1000).toISOString()
    : null
