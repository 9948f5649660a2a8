import type { FastifyRequest } from 'fastify'

/**
 * The body of a request as text, for a strict parser. A request without a body has the empty text: Fastify calls no parser for it, and its
 * `body` is undefined. The only reader of bodies; `tests/rules/request-bodies.test.ts` finds others.
 */
export const textBodyOf = ({ body }: FastifyRequest): string => (typeof body === 'string' ? body : '')
