/** The contact of a node with the identity service, made by hand: what it states is up to the test. */
import { createIdentityClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { type EdgeTokenResponse, identityPaths } from '@selvedge/protocol'
import type { JoinClaim, NodeStatement } from '@selvedge/protocol/tokens'
import type { NodeKey } from './device.ts'

/**
 * Enrols the node, or contacts the service again.
 *
 * @param vitals as the claim of the proof is to have them, ill-formed ones too
 * @returns its edge ID token
 */
export async function contactAs(
  { jwk, prove }: NodeKey,
  url: string,
  { vitals, ...more }: Partial<NodeStatement> & { vitals?: unknown } = {},
): Promise<string> {
  const node = { name: 'stranger', hmac_key: jwk, ...more }
  const { id_token } = await createIdentityClient({ url, fetch: createNodeFetch() }).edgeToken((nonce) =>
    prove(url + identityPaths.edgeToken, { nonce, node, vitals: vitals as never }),
  )
  return id_token
}

/** The contact of a node that joins by a key, or with a claim that is ill formed. */
export const joinAs = (
  { jwk, prove }: NodeKey,
  url: string,
  join: JoinClaim | object,
  more: Partial<NodeStatement> = {},
): Promise<EdgeTokenResponse> =>
  createIdentityClient({ url, fetch: createNodeFetch() }).edgeToken((nonce) =>
    prove(url + identityPaths.edgeToken, {
      nonce,
      node: { name: 'newcomer', hmac_key: jwk, ...more },
      join: join as JoinClaim,
    }),
  )
