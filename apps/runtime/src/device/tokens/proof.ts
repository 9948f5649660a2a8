import { RpcError } from '@selvedge/protocol'
import { type ShownToken, tokenRpcError } from '@selvedge/protocol/tokens'
import type { DpopVerifier } from '@selvedge/service-kit/tokens'

/** As much of a request as a proof is about (RFC 9449 § 4.2). */
export interface ProvenRequest {
  /** The token, if it is in the Authorization header; absent: it is a parameter of a call. */
  readonly shown?: ShownToken | undefined
  /** The DPoP header as it came. */
  readonly dpop: string | undefined
  /** The Host header, which the guard has let through. */
  readonly host: string
  readonly method: string
  /** Without query and fragment. */
  readonly path: string
  /** The WebSocket of the call, if it came over one: its handshake has the proof, for all calls. */
  readonly connection?: object
}

/** Checks that the sender of a request holds the key that its token is bound to. @throws RpcError */
export type CheckProof = (token: string, jkt: string, request: ProvenRequest) => void

/** @param scheme of the listeners */
export function createCheckProof(dpop: DpopVerifier, scheme: 'http' | 'https'): CheckProof {
  /** A batch has one proof for all its calls, a WebSocket one in its handshake, and a proof is valid once. */
  const proved = new WeakMap<object, { token: string; jkt: string }>()

  return (token, jkt, request) => {
    const { dpop: proof, host, method, path } = request
    if (proof === undefined)
      throw new RpcError(
        'invalid_dpop_proof',
        'the token is bound to a key, and the request has no DPoP header',
      )
    const from = request.connection ?? request
    const known = proved.get(from)
    const found =
      known?.token === token ? known.jkt : verify(proof, token, method, `${scheme}://${host}${path}`)
    proved.set(from, { token, jkt: found })
    if (found !== jkt)
      throw new RpcError('invalid_dpop_proof', 'the proof is by another key than the token is bound to')
  }

  function verify(proof: string, accessToken: string, htm: string, htu: string): string {
    try {
      return dpop.verify(proof, { htm, htu, accessToken }).jkt
    } catch (cause) {
      throw tokenRpcError(cause)
    }
  }
}
