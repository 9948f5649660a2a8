import { randomUUID } from 'node:crypto'
import { OAuthError } from '@selvedge/protocol'
import fastify, { type FastifyError, type FastifyInstance } from 'fastify'
import type { Log } from '../log/log.ts'

/**
 * The HTTP shell: which bodies are taken, as text, and how a refusal looks (RFC 6749 § 5.2). Endpoints parse strictly for
 * themselves; what is neither a form nor JSON in UTF-8 is 415.
 *
 * @param maxBody largest body in bytes
 */
export function createHttpApp(log: Log, maxBody: number): FastifyInstance {
  const app = fastify({ bodyLimit: maxBody, requestTimeout: 30_000, logger: false })
  app.removeAllContentTypeParsers()
  const asText = (_request: unknown, body: string | Buffer, done: (error: null, value: unknown) => void) =>
    done(null, body)
  app.addContentTypeParser(
    /^application\/x-www-form-urlencoded(?:\s*;\s*charset="?utf-8"?)?\s*$/i,
    { parseAs: 'string' },
    asText,
  )
  app.addContentTypeParser(
    /^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i,
    { parseAs: 'string' },
    asText,
  )

  app.addHook('onSend', async (_request, reply) => {
    if (!reply.hasHeader('Cache-Control')) reply.header('Cache-Control', 'no-store')
    reply.header('X-Content-Type-Options', 'nosniff')
  })

  app.setErrorHandler((cause: FastifyError | OAuthError, request, reply) => {
    if (cause instanceof OAuthError) {
      return reply.code(cause.status).send({ error: cause.code, error_description: cause.message })
    }
    if (cause.statusCode !== undefined && cause.statusCode < 500) {
      return reply.code(cause.statusCode).send({ error: 'invalid_request', error_description: cause.message })
    }
    const errorId = randomUUID()
    log.error('a request failed', { errorId, path: request.url.split('?', 1)[0], cause })
    const description = `the service failed; its log has the cause under ${errorId}`
    return reply.code(500).send({ error: 'server_error', error_description: description })
  })
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send({
      error: 'invalid_request',
      error_description: `there is no ${request.method} ${request.url.split('?', 1)[0]?.slice(0, 200)}`,
    }),
  )
  return app
}
