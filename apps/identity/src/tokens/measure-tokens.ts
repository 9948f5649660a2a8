/** Counts tokens that were issued or refused. Without metrics nothing is wrapped. */
import { identityPaths, OAuthError, oauthErrors } from '@selvedge/protocol'
import type { HotPath } from '@selvedge/service-kit/http-app'
import type { Metrics } from '@selvedge/service-kit/metrics'
import { createWorkCount } from '@selvedge/service-kit/work'
import type { FastifyInstance } from 'fastify'
import type { EdgeMint } from './enrolment/mint-edge.ts'
import type { Grant } from './grants/grant.ts'

/** An edge ID token, beside the grants. */
const edge = 'edge_id_token'

export interface MeasuredTokens {
  readonly grants: readonly Grant[]
  readonly edgeMint: EdgeMint
  /** Counts what the token endpoint refuses. */
  tokenEndpoint(endpoint: HotPath): HotPath
  /** Counts what the endpoint for edge ID tokens refuses. To be called before its route is added. */
  edgeEndpoint(app: FastifyInstance): void
}

export interface MeasuredParts {
  readonly grants: readonly Grant[]
  readonly edgeMint: EdgeMint
  /** Operations of the store without an answer. */
  readonly storeUnderWay: () => number
}

export function measureTokens(
  metrics: Metrics,
  { grants, edgeMint, storeUnderWay }: MeasuredParts,
): MeasuredTokens {
  const issued = metrics.counter('selvedge_tokens_issued_total', 'Answers with tokens, by grant.', {
    grant: [...grants.map(({ grantType }) => grantType), edge],
  })
  const refused = metrics.counter(
    'selvedge_tokens_refused_total',
    'Requests for tokens that were refused, by endpoint and error code.',
    { endpoint: ['token', edge], reason: Object.keys(oauthErrors) },
  )
  const requests = createWorkCount()
  metrics.gauges(
    'selvedge_queue_length',
    'What waits: requests at the token endpoint without an answer, operations of the store without an answer.',
    { queue: ['tokens', 'store'] },
    () => ({ tokens: requests.underWay, store: storeUnderWay() }),
  )
  const refuse = (endpoint: string, cause: unknown) =>
    refused.count(endpoint, cause instanceof OAuthError ? cause.code : 'server_error')
  return {
    grants: grants.map((grant) => ({
      ...grant,
      async answer(form, caller) {
        const response = await grant.answer(form, caller)
        issued.count(grant.grantType)
        return response
      },
    })),
    edgeMint: {
      ...edgeMint,
      async idToken(grounds) {
        const token = await edgeMint.idToken(grounds)
        issued.count(edge)
        return token
      },
    },
    tokenEndpoint: (endpoint) => ({
      ...endpoint,
      answer: (request) =>
        requests.during(async () => {
          try {
            return await endpoint.answer(request)
          } catch (cause) {
            refuse('token', cause)
            throw cause
          }
        }),
    }),
    edgeEndpoint(app) {
      app.addHook('onError', (request, _reply, cause, done) => {
        if (request.routeOptions.url === identityPaths.edgeToken) refuse(edge, cause)
        done()
      })
    },
  }
}
