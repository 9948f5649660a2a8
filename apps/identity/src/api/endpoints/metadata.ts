import { grantTypes, identityPaths, promptValues } from '@selvedge/protocol'
import { appIdAlgorithms, scopeNames } from '@selvedge/protocol/tokens'
import type { FastifyInstance } from 'fastify'
import type { SigningKeys } from '../../registry/keys/signing-keys.ts'

/** Seconds for which verifiers may keep the key set; shorter than the time between publishing a key and using it. */
const keysMaxAgeSeconds = 300

/** RFC 8414 and OpenID Connect Discovery 1.0 (one document serves both), and the key set (RFC 7517). */
export function addMetadataEndpoints(
  app: FastifyInstance,
  {
    issuer,
    consoleUrl,
    keys,
    roles,
  }: {
    issuer: () => string
    consoleUrl: () => string
    keys: SigningKeys
    roles: { cloud: boolean; tenant: boolean }
  },
): void {
  const document = () => ({
    issuer: issuer(),
    jwks_uri: issuer() + identityPaths.jwks,
    ...(roles.tenant && {
      token_endpoint: issuer() + identityPaths.token,
      grant_types_supported: Object.values(grantTypes),
      token_endpoint_auth_methods_supported: ['none'],
      device_authorization_endpoint: issuer() + identityPaths.deviceAuthorization,
      revocation_endpoint: issuer() + identityPaths.revoke,
      revocation_endpoint_auth_methods_supported: ['none'],
      introspection_endpoint: issuer() + identityPaths.introspect,
      introspection_endpoint_auth_methods_supported: ['none'],
      userinfo_endpoint: issuer() + identityPaths.userinfo,
      revocations_uri: issuer() + identityPaths.revocations,
      scopes_supported: scopeNames,
      ...forApps(),
    }),
    ...(!roles.tenant && { token_endpoint: issuer() + identityPaths.edgeToken }),
    ...(roles.cloud && { edge_token_endpoint: issuer() + identityPaths.edgeToken }),
    ...(!roles.tenant && { response_types_supported: [] }),
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: roles.tenant ? appIdAlgorithms : ['ES256'],
    dpop_signing_alg_values_supported: ['ES256'],
  })
  /** People sign in on the pages of the console, which may have another host name. */
  const forApps = () => ({
    authorization_endpoint: consoleUrl() + identityPaths.authorize,
    end_session_endpoint: consoleUrl() + identityPaths.endSession,
    pushed_authorization_request_endpoint: issuer() + identityPaths.pushedAuthorization,
    require_pushed_authorization_requests: false,
    authorization_response_iss_parameter_supported: true,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    code_challenge_methods_supported: ['S256'],
    prompt_values_supported: promptValues,
    claim_types_supported: ['normal'],
    claims_supported: ['iss', 'sub', 'aud', 'iat', 'exp', 'auth_time', 'nonce', 'sid', 'account_id', 'email'],
    claims_parameter_supported: false,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  })
  for (const path of [identityPaths.openidConfiguration, identityPaths.oauthMetadata]) {
    app.get(path, async (_, reply) => {
      reply.header('Cache-Control', `public, max-age=${keysMaxAgeSeconds}`)
      return document()
    })
  }
  app.get(identityPaths.jwks, async (_, reply) => {
    reply.header('Cache-Control', `public, max-age=${keysMaxAgeSeconds}`).type('application/jwk-set+json')
    return keys.jwks
  })
}
