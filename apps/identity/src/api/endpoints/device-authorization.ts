import { type DeviceAuthorizationResponse, identityPaths } from '@selvedge/protocol'
import type { AddressSet } from '@selvedge/service-kit/address-set'
import { addressOf } from '@selvedge/service-kit/http'
import { textBodyOf } from '@selvedge/service-kit/http-app'
import type { SharedDpopVerifier } from '@selvedge/service-kit/tokens'
import type { FastifyInstance } from 'fastify'
import type { Projects } from '../../registry/projects/projects.ts'
import { type DeviceRequests, deviceTimes } from '../../registry/sign-ins/device-requests.ts'
import { checkClientActive } from '../../tokens/checks/client-active.ts'
import { checkScopeAllowed } from '../../tokens/checks/scope-allowed.ts'
import { parseForm, required } from '../../tokens/grants/form.ts'
import { withNamedClient } from './named-client.ts'
import { verifyProof } from './token.ts'

export interface DeviceAuthorizationParts {
  readonly projects: Projects
  readonly deviceRequests: DeviceRequests
  readonly dpop: SharedDpopVerifier
  readonly issuer: () => string
  /** Where people find the console. */
  readonly consoleUrl: () => string
  readonly trustedProxies: AddressSet
}

/** `POST /device_authorization` (RFC 8628 § 3.1). A proof sent with it binds the tokens that come of it. */
export function addDeviceAuthorizationEndpoint(
  routes: FastifyInstance,
  parts: DeviceAuthorizationParts,
): void {
  const { dpop, issuer } = parts
  routes.post(
    identityPaths.deviceAuthorization,
    async (request, reply): Promise<DeviceAuthorizationResponse> => {
      const address = addressOf(request.raw, parts.trustedProxies)
      const form = withNamedClient(parseForm(textBodyOf(request)), request.headers.authorization)
      const project = await checkClientActive(parts.projects, required(form, 'client_id'))
      const scope = checkScopeAllowed(project, form.get('scope') ?? 'openid')
      const { dpop: proof } = request.headers
      let jkt = ''
      if (typeof proof === 'string' && project.dpop !== 'off') {
        reply.header('DPoP-Nonce', dpop.nonce())
        jkt = await verifyProof(dpop, proof, issuer() + identityPaths.deviceAuthorization)
      }
      const userAgent = (request.headers['user-agent'] ?? '').slice(0, 200)
      const { deviceCode, userCode } = await parts.deviceRequests.create({
        clientId: project.clientId,
        scope,
        jkt,
        address,
        userAgent,
      })
      const page = parts.consoleUrl() + identityPaths.verification
      return {
        device_code: deviceCode,
        user_code: userCode,
        verification_uri: page,
        verification_uri_complete: `${page}?user_code=${userCode}`,
        expires_in: deviceTimes.lifeSeconds,
        interval: deviceTimes.intervalSeconds,
      }
    },
  )
}
