import { createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { OAuthError } from '@selvedge/protocol'
import { type NodeStatement, publicJwk } from '@selvedge/protocol/tokens'
import { agreeHmacSecret } from '@selvedge/service-kit/tokens'
import type { Node } from '../../registry/nodes/nodes.ts'

/** Any stranger can request a key pair: on the event loop it would be four times slower. */
const makeKeyPair = promisify(generateKeyPair)

/**
 * The cloud's half of the HMAC secret: a key pair for this node alone. Only its public key is stored.
 *
 * @param nodeKey the key of the node as it is stored, as JWK text
 * @throws OAuthError `invalid_dpop_proof` if the key of the node is not a point of P-256
 */
export async function agreeHmac(
  nodeId: string,
  { hmac_key }: Pick<NodeStatement, 'hmac_key'>,
  nodeKey: string,
): Promise<Node['hmac']> {
  const { privateKey, publicKey } = await makeKeyPair('ec', { namedCurve: 'P-256' })
  const secret = agreeHmacSecret(privateKey, importNodeKey(hmac_key), nodeId)
  const cloudKey = JSON.stringify(publicJwk.parse(publicKey.export({ format: 'jwk' })))
  return { nodeKey, cloudKey, secret: secret.toString('base64url') }
}

function importNodeKey(jwk: NodeStatement['hmac_key']): KeyObject {
  try {
    return createPublicKey({ key: { ...jwk }, format: 'jwk' })
  } catch (cause) {
    throw new OAuthError('invalid_dpop_proof', 'claim "node.hmac_key" of the proof is not a point of P-256', {
      cause,
    })
  }
}
