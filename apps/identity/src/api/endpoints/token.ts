import { identityPaths, OAuthError } from '@selvedge/protocol'
import { tokenOAuthError } from '@selvedge/protocol/tokens'
import type { AddressSet } from '@selvedge/service-kit/address-set'
import type { HotPath } from '@selvedge/service-kit/http-app'
import { proofAsOAuth } from '@selvedge/service-kit/http-app'
import type { SharedDpopVerifier } from '@selvedge/service-kit/tokens'
import type { Projects } from '../../registry/projects/projects.ts'
import type { Changes } from '../../storage/changes/changes.ts'
import { parseForm, required } from '../../tokens/grants/form.ts'
import type { Caller, Grant } from '../../tokens/grants/grant.ts'
import type { Limits } from '../../tokens/grants/limits.ts'
import { corsOfClient } from './cors.ts'
import { withNamedClient } from './named-client.ts'

export interface TokenEndpointParts {
  readonly grants: readonly Grant[]
  readonly projects: Projects
  readonly limits: Limits
  readonly dpop: SharedDpopVerifier
  readonly issuer: () => string
  readonly changes: Pick<Changes, 'epoch' | 'ensureFresh'>
  readonly trustedProxies: AddressSet
}

/** `POST /token` (RFC 6749 § 3.2). */
export function createTokenEndpoint({
  grants,
  projects,
  limits,
  dpop,
  issuer,
  changes,
  trustedProxies,
}: TokenEndpointParts): HotPath {
  const byType = new Map(grants.map((grant) => [grant.grantType, grant]))
  return {
    path: identityPaths.token,
    nonce: dpop.nonce,
    trustedProxies,
    takes: 'form',
    async answer({ body, authorization, dpop: proof, address, origin, headers }) {
      limits.takeAddress(address)
      await changes.ensureFresh()
      const sent = parseForm(body)
      if (origin !== undefined)
        Object.assign(headers, await corsOfClient(projects, origin, sent.get('client_id')))
      const form = withNamedClient(sent, authorization)
      const grant = byType.get(required(form, 'grant_type'))
      if (!grant) {
        const known = [...byType.keys()].join(', ')
        throw new OAuthError('unsupported_grant_type', `the grants of this service are ${known}`)
      }
      const caller: Caller = {
        address,
        epoch: changes.epoch(),
        prove: async (policy) => {
          if (policy === 'off') return undefined
          if (proof !== undefined) return verifyProof(dpop, proof, issuer() + identityPaths.token)
          if (policy === 'optional') return undefined
          throw new OAuthError(
            'invalid_dpop_proof',
            'the project requires tokens bound to a key: send a DPoP proof',
          )
        },
      }
      try {
        return await grant.answer(form, caller)
      } catch (cause) {
        throw tokenOAuthError(cause, grant.tokenError, (refused) =>
          refused.messageFor(grant.tokenFields?.[refused.wrongKind?.typ ?? ''] ?? 'the request'),
        )
      }
    },
  }
}

/** The key of a proof for a request to one of our forms. @throws OAuthError */
export const verifyProof = (dpop: SharedDpopVerifier, proof: string, htu: string): Promise<string> =>
  proofAsOAuth(async () => (await dpop.verify(proof, { htm: 'POST', htu })).jkt)
