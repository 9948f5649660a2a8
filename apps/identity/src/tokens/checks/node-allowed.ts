import { type EdgeIdClaims, TokenError } from '@selvedge/protocol/tokens'
import type { Nodes } from '../../registry/nodes/nodes.ts'

/**
 * The node is known and not blocked. Where the cloud is another service, it vouches with its token for knowing the node, and
 * for ten minutes at most; a tenant can block a node on its own.
 *
 * @throws TokenError
 */
export async function checkNodeAllowed(nodes: Nodes, edge: EdgeIdClaims, ownIssuer: string): Promise<void> {
  const node = await nodes.find(edge.node_id)
  if (!node && edge.iss === ownIssuer)
    throw new TokenError('token_untrusted', 'the node of the edge ID token is not known')
  if (node && node.blockedAt !== null)
    throw new TokenError('token_revoked', 'the node of the edge ID token is blocked')
}
