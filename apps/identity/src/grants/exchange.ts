import { randomUUID } from 'node:crypto'
import type { TokenResponse } from '@selvedge/protocol'
import {
  type AccessClaims,
  accessProfile,
  type DeveloperIdClaims,
  type EdgeIdClaims,
  hasScope,
} from '@selvedge/protocol/tokens'
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'
import { checkClientActive } from '../checks/client-active.ts'
import { checkDeveloperToken } from '../checks/developer-token.ts'
import { checkDeveloperTokenNotRevoked } from '../checks/developer-token-not-revoked.ts'
import { checkEdgeToken } from '../checks/edge-token.ts'
import { checkNodeAllowed } from '../checks/node-allowed.ts'
import { checkResourceAllowed } from '../checks/resource-allowed.ts'
import { checkScopeAllowed } from '../checks/scope-allowed.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import type { DeveloperTokens } from '../registry/developer-tokens.ts'
import type { Nodes } from '../registry/nodes.ts'
import type { Projects } from '../registry/projects.ts'
import type { ExchangeRequest } from './grant.ts'

export interface ExchangeParts {
  readonly clock: Clock
  readonly keys: SigningKeys
  readonly issuer: () => string
  /** Seconds. */
  readonly lifetime: number
  readonly projects: Projects
  readonly nodes: Nodes
  readonly developerTokens: DeveloperTokens
  /** Believes this tenant's own keys only. */
  readonly developerVerifier: TokenVerifier
  /** Believes the clouds that this tenant trusts. */
  readonly edgeVerifier: TokenVerifier
}

/** The one way to an access token: every check in its order, then the minting. Both grants come through here. */
export function createExchange(parts: ExchangeParts): (request: ExchangeRequest) => Promise<TokenResponse> {
  const { projects, nodes, developerTokens, developerVerifier, edgeVerifier } = parts
  return async ({ clientId, developerToken, edgeToken, scope, resource }) => {
    const project = await checkClientActive(projects, clientId)
    const granted = checkScopeAllowed(project, scope)
    const audience = checkResourceAllowed(project, resource)
    const developer = await checkDeveloperToken(developerVerifier, developerToken, clientId)
    checkDeveloperTokenNotRevoked(developerTokens, developer)
    const edge = await checkEdgeToken(edgeVerifier, edgeToken, parts.issuer())
    await checkNodeAllowed(nodes, edge, parts.issuer())
    return {
      access_token: mint(parts, { developer, edge, clientId, scope: granted, audience }),
      token_type: 'Bearer',
      expires_in: parts.lifetime,
      scope: granted,
      // The caller's own token, not a new one: an answer that leaks gives away no credential that was not there before.
      ...(hasScope(granted, 'openid') && { id_token: developerToken }),
    }
  }
}

interface Grounds {
  readonly developer: DeveloperIdClaims
  readonly edge: EdgeIdClaims
  readonly clientId: string
  readonly scope: string
  readonly audience: string | string[]
}

function mint({ keys, clock, issuer, lifetime }: ExchangeParts, grounds: Grounds): string {
  const { developer, edge, clientId, scope, audience } = grounds
  const now = seconds(clock)
  const claims: AccessClaims = {
    iss: issuer(),
    sub: developer.sub,
    aud: audience,
    client_id: clientId,
    azp: clientId,
    scope,
    iat: now,
    exp: now + lifetime,
    jti: randomUUID(),
    auth_time: developer.auth_time,
    node_id: edge.node_id,
    account_id: developer.account_id,
    act: { sub: edge.node_id },
  }
  return keys.sign(accessProfile.typ, claims)
}
