import type { OAuthErrorCode } from '@selvedge/protocol'

/** What an exchange needs, whatever words it came in. */
export interface ExchangeRequest {
  readonly clientId: string
  readonly developerToken: string
  readonly edgeToken: string
  readonly scope: string
  readonly resource: string | undefined
}

/** A grant of the token endpoint: how its words are read, and what is peculiar to its answers. */
export interface Grant {
  readonly grantType: string
  /** @throws OAuthError `invalid_request` */
  readonly read: (form: ReadonlyMap<string, string>) => ExchangeRequest
  /** What a refused token is called. */
  readonly tokenError: OAuthErrorCode
  /** Members of the answer beyond those of RFC 6749. */
  readonly extra: Readonly<Record<string, string>>
}
