import { hash, randomUUID } from 'node:crypto'
import { identityPaths } from '@selvedge/protocol'
import { type RevocationsClaims, revocationsAudience, revocationsProfile } from '@selvedge/protocol/tokens'
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import { revocationEntry } from '@selvedge/service-kit/tokens'
import type { FastifyInstance } from 'fastify'
import type { SigningKeys } from '../keys/signing-keys.ts'
import type { Revocation, Revocations } from './revocations.ts'

/** Seconds after which an unchanged list is signed again, so that its age says something, and for which it is valid. */
const times = { again: 300, life: 30 * 86_400 }

export interface FeedParts {
  readonly clock: Clock
  readonly keys: SigningKeys
  readonly issuer: () => string
  readonly revocations: Revocations
}

/**
 * `GET /revocations`: the signed list of what was revoked, for verifiers that are offline at times. It names nobody, so anyone
 * may have it. Its ETag changes with its content and with nothing else.
 */
export function addRevocationsEndpoint(
  app: FastifyInstance,
  { clock, keys, issuer, revocations }: FeedParts,
): void {
  let made: { of: readonly Revocation[]; token: string; etag: string; at: number } | undefined

  async function current() {
    const of = revocations.current()
    const now = seconds(clock)
    if (made && made.of === of && now - made.at < times.again) return made
    const revoked: string[] = []
    const notBefore: Record<string, number> = {}
    const epochs: Record<string, number> = {}
    for (const { kind, subject, notBefore: before, epoch } of of) {
      const entry = revocationEntry(kind, subject)
      if (kind === 'id') revoked.push(entry)
      else {
        notBefore[entry] = before
        epochs[entry] = epoch
      }
    }
    const content = { revoked, not_before: notBefore, epochs }
    const claims: RevocationsClaims = {
      iss: issuer(),
      sub: issuer(),
      aud: revocationsAudience,
      iat: now,
      exp: now + times.life,
      jti: randomUUID(),
      seq: await revocations.seq(),
      ...content,
    }
    const digest = hash('sha256', JSON.stringify(content), 'base64url')
    made = { of, token: keys.sign(revocationsProfile.typ, claims), etag: `"${digest}"`, at: now }
    return made
  }

  app.get(identityPaths.revocations, async (request, reply) => {
    const { token, etag } = await current()
    reply.header('ETag', etag).header('Cache-Control', 'no-cache')
    if (request.headers['if-none-match'] === etag) return reply.code(304).send()
    return reply.type('application/jwt').send(token)
  })
}
