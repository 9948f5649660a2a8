import type { FastifyInstance } from 'fastify'
import { formType } from './hot-path.ts'

/** Routes that take a form as text, since endpoints parse strictly for themselves; other content types are 415. */
export function addFormRoutes(app: FastifyInstance, add: (routes: FastifyInstance) => void): void {
  // What it throws comes out of `listen`.
  void app.register(async (routes) => {
    routes.removeAllContentTypeParsers()
    routes.addContentTypeParser(formType, { parseAs: 'string' }, (_request, body, done) => done(null, body))
    add(routes)
  })
}
