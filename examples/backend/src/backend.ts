import { AccessTokenError, type AccessTokenVerifier } from '@selvedge/client/backend'
import fastify, { type FastifyInstance } from 'fastify'

/** The service, on any verifier: one route that says whose device is calling. */
export function createBackend(verifier: AccessTokenVerifier): FastifyInstance {
  const app = fastify()

  app.get('/whoami', async (request) => {
    const { account_id, node_id, scope } = await verifier.verify(request.headers.authorization)
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
