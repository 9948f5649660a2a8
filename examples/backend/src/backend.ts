import { AccessTokenError, type AccessTokenVerifier } from '@selvedge/client/backend'
import fastify, { type FastifyInstance } from 'fastify'

/**
 * The service, on any verifier: one route that says whose device is calling.
 *
 * @param origin where callers know the service: proofs of tokens that are bound to a key are for it, whatever Host they send
 */
export function createBackend(verifier: AccessTokenVerifier, origin: () => string): FastifyInstance {
  const app = fastify()

  app.get('/whoami', async (request) => {
    const { authorization, dpop } = request.headers
    const asked = { method: request.method, url: origin() + request.url, proof: dpop?.toString() }
    const { account_id, node_id, scope } = await verifier.verify(authorization, asked)
    return { account: account_id, node: node_id, scope }
  })

  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof AccessTokenError)) throw error
    if (error.wwwAuthenticate) reply.header('WWW-Authenticate', error.wwwAuthenticate)
    return reply
      .code(error.status)
      .send({ error: { code: error.status, reason: error.reason, message: error.message } })
  })
  return app
}
