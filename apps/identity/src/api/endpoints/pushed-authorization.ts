import { identityPaths, OAuthError, type PushedAuthorizationResponse } from '@selvedge/protocol'
import type { AddressSet } from '@selvedge/service-kit/address-set'
import { addressOf } from '@selvedge/service-kit/http'
import { textBodyOf } from '@selvedge/service-kit/http-app'
import type { SharedDpopVerifier } from '@selvedge/service-kit/tokens'
import type { FastifyInstance } from 'fastify'
import type { Projects } from '../../registry/projects/projects.ts'
import { type PushedRequests, pushedLifeSeconds } from '../../registry/sign-ins/pushed-requests.ts'
import type { Authorizations } from '../../tokens/authorize/authorizations.ts'
import { RefusedRequest } from '../../tokens/authorize/refused-request.ts'
import { checkClientActive } from '../../tokens/checks/client-active.ts'
import { parseForm, required } from '../../tokens/grants/form.ts'
import { withNamedClient } from './named-client.ts'
import { verifyProof } from './token.ts'

export interface PushedAuthorizationParts {
  readonly projects: Projects
  readonly pushedRequests: PushedRequests
  readonly authorizations: Pick<Authorizations, 'read'>
  readonly dpop: SharedDpopVerifier
  readonly issuer: () => string
  readonly trustedProxies: AddressSet
}

/** Characters of a request: as much as fits into a query. */
const maxFormLength = 12_000

/** `POST /par` (RFC 9126). A DPoP proof sent with it binds the code to its key (RFC 9449 § 10.1). */
export function addPushedAuthorizationEndpoint(
  routes: FastifyInstance,
  parts: PushedAuthorizationParts,
): void {
  const { dpop, issuer } = parts
  routes.post(
    identityPaths.pushedAuthorization,
    async (request, reply): Promise<PushedAuthorizationResponse> => {
      const form = new Map(withNamedClient(parseForm(textBodyOf(request)), request.headers.authorization))
      if (form.has('request_uri'))
        throw new OAuthError('invalid_request', '"request_uri" is not for pushed requests')
      const { clientId, dpop: policy } = await checkClientActive(parts.projects, required(form, 'client_id'))
      const { dpop: proof } = request.headers
      if (typeof proof === 'string' && policy !== 'off') {
        reply.header('DPoP-Nonce', dpop.nonce())
        const jkt = await verifyProof(dpop, proof, issuer() + identityPaths.pushedAuthorization)
        if ((form.get('dpop_jkt') ?? jkt) !== jkt)
          throw new OAuthError('invalid_request', '"dpop_jkt" is not the thumbprint of the key of the proof')
        form.set('dpop_jkt', jkt)
      }
      const pushed = new URLSearchParams([...form]).toString()
      if (pushed.length > maxFormLength)
        throw new OAuthError('invalid_request', `the request has more than ${maxFormLength} characters`)
      await expectValid(pushed)
      const address = addressOf(request.raw, parts.trustedProxies)
      const requestUri = await parts.pushedRequests.push({ clientId, form: pushed, address })
      reply.code(201)
      return { request_uri: requestUri, expires_in: pushedLifeSeconds }
    },
  )

  // § 2.3.
  routes.route({
    method: ['GET', 'PUT', 'PATCH', 'DELETE'],
    url: identityPaths.pushedAuthorization,
    handler: async (_, reply) => {
      reply.header('Allow', 'POST')
      throw new OAuthError('invalid_request', 'requests are pushed with POST', { status: 405 })
    },
  })

  /** Nothing is stored of a request that the authorization endpoint would refuse (§ 2.1). */
  async function expectValid(pushed: string): Promise<void> {
    try {
      await parts.authorizations.read(pushed)
    } catch (cause) {
      throw cause instanceof RefusedRequest ? cause.error : cause
    }
  }
}
