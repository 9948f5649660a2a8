import type { OAuthErrorCode, TokenResponse } from '@selvedge/protocol'
import type { DpopPolicy } from '../../registry/projects/projects.ts'

/** The caller, as far as the form does not contain it. */
export interface Caller {
  readonly address: string
  /** Number of the newest change that was known when the request arrived. The checks use data that is at least as new. */
  readonly epoch: number
  /**
   * Thumbprint of the key that the caller proves (RFC 9449 § 5); undefined if it sent no proof, or if the project uses no proofs.
   *
   * @throws OAuthError `invalid_dpop_proof`, `use_dpop_nonce`
   */
  readonly prove: (policy: DpopPolicy) => Promise<string | undefined>
}

/** A grant of the token endpoint. */
export interface Grant {
  readonly grantType: string
  /** What a refused token is called. */
  readonly tokenError: OAuthErrorCode
  /** The field that each kind of token is expected in, by the type in the token's header: a refusal names the field. */
  readonly tokenFields?: Readonly<Record<string, string>>
  /** @throws OAuthError | TokenError */
  readonly answer: (form: ReadonlyMap<string, string>, caller: Caller) => Promise<TokenResponse>
}

/** What an exchange needs, whatever words it came in. */
interface ExchangeRequest {
  readonly clientId: string
  readonly developerToken: string
  readonly edgeToken: string
  readonly scope: string
  readonly resource: string | undefined
}

export type Exchange = (request: ExchangeRequest, caller: Caller) => Promise<TokenResponse>
