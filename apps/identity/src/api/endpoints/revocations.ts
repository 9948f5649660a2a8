import { identityPaths, OAuthError } from '@selvedge/protocol'
import type { FastifyInstance } from 'fastify'
import type { ListState, RevocationList } from '../../registry/revocation/list.ts'

/**
 * `GET /revocations`: the signed list of what was revoked, for runtimes that are offline at times. It contains no names, so any client
 * may read it. `?since=<seq>&mark=<mark>` requests the changes since a state; without them the response is the whole list. The
 * ETag identifies the state, and changes with the content only.
 */
export function addRevocationsEndpoint(app: FastifyInstance, list: RevocationList): void {
  app.get(identityPaths.revocations, async (request, reply) => {
    const since = readState(request.query as Record<string, unknown>)
    const answer = await list.answer(since)
    reply.header('Cache-Control', 'no-cache')
    if (answer === 'unchanged') return reply.code(304).send()
    reply.header('ETag', answer.etag)
    if (request.headers['if-none-match'] === answer.etag) return reply.code(304).send()
    return reply.type('application/jwt').send(answer.token)
  })
}

/** @throws OAuthError `invalid_request` */
function readState({ since, mark }: Record<string, unknown>): ListState | undefined {
  if (since === undefined) return undefined
  const seq = typeof since === 'string' && /^\d{1,15}$/.test(since) ? Number(since) : undefined
  if (seq === undefined || typeof mark !== 'string')
    throw new OAuthError(
      'invalid_request',
      '"since" is the claim "seq" of a list, and "mark" its claim "mark"',
    )
  return { seq, mark }
}
