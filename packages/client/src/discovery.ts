import {
  discoveryPaths,
  type Fix,
  type FixReceipt,
  fixReceipt,
  type LastFix,
  lastFix,
} from '@selvedge/protocol'
import { type Prove, read } from './identity.ts'
import { sendWithProof, successOf } from './oauth.ts'
import { type CallOptions, type Connection, send } from './send.ts'

export interface DiscoveryClient {
  /** Reports where the node of the token is: one fix or several. @throws OAuthFailure | ConnectionFailure */
  report(
    fixes: Fix | readonly Fix[],
    edgeIdToken: string,
    prove: Prove,
    options?: CallOptions,
  ): Promise<FixReceipt>
  /** The last fix of a node of the token's account. @throws OAuthFailure | ConnectionFailure */
  lastFix(nodeId: string, accessToken: string, options?: CallOptions): Promise<LastFix>
}

/** The discovery service, as devices and their developers see it. */
export function createDiscoveryClient(connection: Connection): DiscoveryClient {
  const nonces: { current: string | undefined } = { current: undefined }
  const { url } = connection
  return {
    async report(fixes, edgeIdToken, prove, options) {
      const body = JSON.stringify(fixes)
      const reply = await sendWithProof(nonces, prove, (proof) => {
        const headers = {
          'Content-Type': 'application/json',
          Authorization: `DPoP ${edgeIdToken}`,
          DPoP: proof,
        }
        return send(connection, { method: 'POST', path: discoveryPaths.fixes, headers, body }, options)
      })
      return read(url, fixReceipt, successOf(url, reply))
    },
    async lastFix(nodeId, accessToken, options) {
      const headers = { Authorization: `Bearer ${accessToken}` }
      const reply = await send(
        connection,
        { method: 'GET', path: discoveryPaths.fixOf(nodeId), headers },
        options,
      )
      return read(url, lastFix, successOf(url, reply))
    },
  }
}
