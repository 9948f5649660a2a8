/** The contact of a node with the identity service, made by hand: what it states is up to the test. */
import { createIdentityClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { identityPaths } from '@selvedge/protocol'
import type { NodeStatement } from '@selvedge/protocol/tokens'
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
