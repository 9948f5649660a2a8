import { grantTypes, identityPaths } from '@selvedge/protocol'
import { scopeNames } from '@selvedge/protocol/tokens'
import type { FastifyInstance } from 'fastify'
import type { SigningKeys } from '../../registry/keys/signing-keys.ts'

/** Seconds for which verifiers may keep the key set; shorter than the time between publishing a key and using it. */
const keysMaxAgeSeconds = 300

/** RFC 8414 and OpenID Connect Discovery 1.0 (one document serves both), and the key set (RFC 7517). */
export function addMetadataEndpoints(
  app: FastifyInstance,
  {
    issuer,
    keys,
    roles,
  }: { issuer: () => string; keys: SigningKeys; roles: { cloud: boolean; tenant: boolean } },
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
    }),
    ...(!roles.tenant && { token_endpoint: issuer() + identityPaths.edgeToken }),
    ...(roles.cloud && { edge_token_endpoint: issuer() + identityPaths.edgeToken }),
    response_types_supported: [],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    dpop_signing_alg_values_supported: ['ES256'],
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
