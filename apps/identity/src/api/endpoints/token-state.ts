/** Whether a token that this service issued is valid now: the one answer that introspection and userinfo give. */
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import type { Nodes } from '../../registry/nodes/nodes.ts'
import type { Projects } from '../../registry/projects/projects.ts'
import type { Revocations } from '../../registry/revocation/revocations.ts'
import { clientOf, type IssuedToken } from './issued-token.ts'

export interface TokenStateParts {
  readonly clock: Clock
  readonly revocations: Pick<Revocations, 'reasonFor'>
  readonly projects: Projects
  readonly nodes: Nodes
}

/** @returns why a token is not valid, in words; undefined if it is */
export async function reasonAgainst(
  token: Exclude<IssuedToken, { kind: 'refresh' }>,
  { clock, revocations, projects, nodes }: TokenStateParts,
): Promise<string | undefined> {
  const { claims } = token
  if (claims.exp <= seconds(clock)) return 'it has expired'
  const client = clientOf(token)
  if (client !== undefined && !(await projects.find(client))?.active) return 'its project is turned off'
  const revoked = revocations.reasonFor(claims, client)
  if (revoked !== undefined) return revoked
  const node = claims.node_id === undefined ? undefined : await nodes.find(claims.node_id)
  return node && node.blockedAt !== null ? 'its node is blocked' : undefined
}
