import { hasScope } from '@selvedge/protocol/tokens'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'
import type { Nodes } from '../../registry/nodes/nodes.ts'
import type { Projects } from '../../registry/projects/projects.ts'
import type { Revocations } from '../../registry/revocation/revocations.ts'
import { newSid, type SignIns } from '../../registry/sign-ins/sign-ins.ts'
import { checkClientActive } from '../checks/client-active.ts'
import { checkEdgeToken } from '../checks/edge-token.ts'
import { checkNodeAllowed } from '../checks/node-allowed.ts'
import { checkEdgeNotRevoked, checkForeignNotRevoked } from '../checks/not-revoked.ts'
import { checkResourceAllowed } from '../checks/resource-allowed.ts'
import { checkScopeAllowed } from '../checks/scope-allowed.ts'
import type { Trust } from '../trust/trust.ts'
import { createAdmit, type EntrantParts } from './entrant.ts'
import type { Exchange } from './grant.ts'
import type { IssueLease } from './lease.ts'
import type { Limits } from './limits.ts'
import type { Mint } from './mint.ts'

export interface ExchangeParts extends EntrantParts {
  readonly projects: Projects
  readonly nodes: Nodes
  readonly revocations: Revocations
  readonly signIns: SignIns
  readonly limits: Limits
  readonly mint: Mint
  readonly issueLease: IssueLease
  /** Believes the clouds that this tenant trusts. */
  readonly edgeVerifier: TokenVerifier
  readonly trust: Pick<Trust, 'foreignReasonAgainst'>
}

/** Issues access tokens for a node: every check in its order, then the minting. Both exchange grants use it. */
export function createExchange(parts: ExchangeParts): Exchange {
  const { projects, nodes, edgeVerifier, revocations, signIns } = parts
  const admit = createAdmit(parts)
  return async ({ clientId, developerToken, edgeToken, scope, resource }, caller) => {
    const project = await checkClientActive(projects, clientId)
    const granted = checkScopeAllowed(project, scope)
    const audience = checkResourceAllowed(project, resource)
    const jkt = await caller.prove(project.dpop)
    const entrant = await admit(project, developerToken, granted)
    const edge = await checkEdgeToken(edgeVerifier, edgeToken, parts.issuer())
    checkEdgeNotRevoked(revocations, edge)
    await checkForeignNotRevoked(parts.trust, edge, 'edge ID token')
    await checkNodeAllowed(nodes, edge, parts.issuer())
    const { accountId, personId, email, authTime, subject, origin } = entrant
    parts.limits.takeFor(clientId, accountId)
    const lasts = hasScope(granted, 'offline_access')
    const sid = lasts ? newSid() : origin
    entrant.noteUse()
    const { epoch } = caller
    const nodeId = edge.node_id
    const grounds = {
      project,
      accountId,
      subject,
      authTime,
      scope: granted,
      audience,
      sid,
      epoch,
      nodeId,
      jkt,
    }
    const refreshToken =
      lasts &&
      (await signIns.begin({
        sid,
        clientId,
        accountId,
        personId,
        email,
        nodeId,
        origin,
        scope: granted,
        audience,
        jkt: jkt ?? '',
        authTime,
        epoch,
        described: `${edge.node_name} from ${caller.address}`,
      }))
    return {
      ...parts.mint(grounds),
      ...(await parts.issueLease(grounds)),
      // The caller's own token, not a new one: a leaked answer exposes no additional credential.
      ...(hasScope(granted, 'openid') && { id_token: developerToken }),
      ...(refreshToken && { refresh_token: refreshToken }),
    }
  }
}
