import { ConnectionFailure, type IdentityClient, isSelvedgeError } from '@selvedge/client'
import { identityPaths, RpcError } from '@selvedge/protocol'
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import {
  agreeHmacSecret,
  createHmacCode,
  createProof,
  type HmacVerdict,
  hmacIssuer,
  importPublicKey,
  verifyHmacCode,
} from '@selvedge/service-kit/tokens'
import type { EdgeTokens } from '../cloud/edge-tokens.ts'
import type { NodeKey } from '../node/node-key.ts'
import type { StateStore } from '../state.ts'
import { createRequestBudget } from './request-budget.ts'

export interface Hmac {
  /** @throws RpcError `invalid_params` | `identity_unavailable` */
  create(params: { expiry: string; nodeId: string; uri: string }): { edgeHmacCode: string }
  /**
   * @param request the request of the call: it may carry a few codes of other nodes, each of which asks the identity service
   * @throws RpcError `identity_unavailable` or `limit_exceeded`, only for codes of other nodes
   */
  verify(params: { edgeHmacCode: string; nodeId: string; uri: string }, request: object): Promise<HmacVerdict>
}

/** Codes of other nodes in one request: a signature and a call of the identity service each, for any caller. */
const maxForeignCodes = 4

export interface HmacParts {
  readonly key: NodeKey
  readonly state: StateStore
  readonly clock: Clock
  readonly url: string
  readonly client: IdentityClient
  readonly tokens: EdgeTokens
}

export function createHmac({ key, state, clock, url, client, tokens }: HmacParts): Hmac {
  const takeForeign = createRequestBudget(maxForeignCodes, 'HMAC codes of other nodes')
  let agreed: { readonly with: object; readonly secret: Buffer } | undefined

  /** The secret of this node, once it is agreed with the cloud; computed again at each start and never stored. */
  function secret(): Buffer | undefined {
    const { hmacCloudKey } = state.value
    if (!hmacCloudKey) return undefined
    if (agreed?.with !== hmacCloudKey) {
      const publicKey = importPublicKey(hmacCloudKey)
      agreed = {
        with: hmacCloudKey,
        secret: agreeHmacSecret(key.agreement.privateKey, publicKey, key.nodeId),
      }
    }
    return agreed.secret
  }

  async function ask(code: { edgeHmacCode: string; nodeId: string; uri: string }): Promise<HmacVerdict> {
    const token = await tokens.get()
    const { privateKey, jwk } = key.signing
    const htu = url + identityPaths.verifyHmac
    const prove = (nonce: string | undefined) =>
      createProof({ key: privateKey, jwk, htm: 'POST', htu, clock, nonce, accessToken: token })
    try {
      return await client.verifyHmac(code, token, prove)
    } catch (cause) {
      if (!isSelvedgeError(cause)) throw cause
      const whose =
        cause instanceof ConnectionFailure ? '' : 'the identity service refused to check the code: '
      throw new RpcError('identity_unavailable', whose + cause.message, { cause })
    }
  }

  return {
    create({ expiry, nodeId, uri }) {
      const own = secret()
      if (!own)
        throw new RpcError(
          'identity_unavailable',
          'this node has not reached its identity service yet, so it has no HMAC secret',
        )
      if (Number(expiry) <= seconds(clock)) {
        throw new RpcError(
          'invalid_params',
          `getEdgeHmacCode: parameter "expiry" is ${expiry}, which is in the past; it is ${seconds(clock)} now`,
        )
      }
      return { edgeHmacCode: createHmacCode(own, key.nodeId, Number(expiry), { nodeId, uri }) }
    },
    async verify(params, request) {
      const issuer = hmacIssuer(params.edgeHmacCode)
      if (issuer === undefined) return { valid: false, reason: 'invalid' }
      if (issuer !== key.nodeId) {
        takeForeign(request)
        return ask(params)
      }
      const own = secret()
      return own
        ? verifyHmacCode(own, params.edgeHmacCode, params, seconds(clock))
        : { valid: false, reason: 'invalid' }
    },
  }
}
