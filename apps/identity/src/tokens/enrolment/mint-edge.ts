import { randomUUID } from 'node:crypto'
import { OAuthError } from '@selvedge/protocol'
import {
  discoveryAudience,
  type EdgeIdClaims,
  edgeIdProfile,
  type NodeStatement,
  type TimeClaims,
  timeAudience,
  timeProfile,
} from '@selvedge/protocol/tokens'
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import type { SigningKeys } from '../../registry/keys/signing-keys.ts'
import type { Node, Nodes } from '../../registry/nodes/nodes.ts'

export interface EdgeMintParts {
  readonly clock: Clock
  readonly keys: Pick<SigningKeys, 'sign'>
  readonly issuer: () => string
  readonly nodes: Pick<Nodes, 'accountKeyEpoch'>
  /** Lifetime of an edge ID token, in seconds. */
  readonly lifetimeSeconds: number
  /** Issuers of the tenants that edge ID tokens are for. */
  readonly audiences: () => readonly string[]
}

/** What an edge ID token rests on. */
interface EdgeGrounds {
  readonly node: Node
  readonly audience: string | string[]
  /** Thumbprint of the key of the node. */
  readonly jkt: string
  /** Number of the newest change that was known when the request arrived. */
  readonly epoch: number
}

export interface EdgeMint {
  readonly lifetimeSeconds: number
  /** The audience for which a node requests a token. @throws OAuthError `invalid_target` */
  audienceOf(stated: NodeStatement): string | string[]
  idToken(grounds: EdgeGrounds): Promise<string>
  /**
   * The present time in Unix milliseconds. It is also signed for the nonce of the node, if it sent one: a node may have no other
   * source of time that it can trust.
   */
  timeFor(nodeId: string, stated: NodeStatement): { time: number; time_token?: string }
}

/** The issuers of the tenants that edge ID tokens are for. @param configured empty: the service's own tenant alone */
export const audiencesOf = (configured: readonly string[], ownIssuer: string): readonly string[] =>
  configured.length === 0 ? [ownIssuer] : configured

export function createEdgeMint(parts: EdgeMintParts): EdgeMint {
  const { clock, keys, issuer, nodes, lifetimeSeconds } = parts
  return {
    lifetimeSeconds,
    audienceOf({ audience }) {
      if (audience === undefined) return [...parts.audiences()]
      if (audience === discoveryAudience) return audience
      throw new OAuthError(
        'invalid_target',
        'the audience of the node is neither absent nor the discovery service',
      )
    },
    async idToken({ node, audience, jkt, epoch }) {
      const now = seconds(clock)
      const claims: EdgeIdClaims = {
        iss: issuer(),
        sub: node.accountId,
        aud: audience,
        azp: node.nodeId,
        node_id: node.nodeId,
        node_name: node.name,
        iat: now,
        exp: now + lifetimeSeconds,
        jti: randomUUID(),
        epoch,
        cnf: { jkt },
        // For the discovery service, which gives the nodes of an account the key by which they know each other.
        ...(audience === discoveryAudience && {
          account_epoch: await nodes.accountKeyEpoch(node.accountId),
        }),
      }
      return keys.sign(edgeIdProfile.typ, claims)
    },
    timeFor(nodeId, { time_nonce: nonce }) {
      const time = clock.now()
      if (nonce === undefined) return { time }
      const iat = Math.floor(time / 1000)
      const claims: TimeClaims = {
        iss: issuer(),
        sub: nodeId,
        aud: timeAudience,
        iat,
        exp: iat + timeProfile.maxLifetime,
        jti: randomUUID(),
        nonce,
        time,
      }
      return { time, time_token: keys.sign(timeProfile.typ, claims) }
    },
  }
}
