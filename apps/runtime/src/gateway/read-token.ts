import type { IncomingMessage } from 'node:http'
import type { ProvenRequest } from '../tokens/proof.ts'

/** The token of an Authorization header (RFC 6750 § 2.1, RFC 9449 § 7.1). */
export const readToken = (authorization: string | undefined): string | undefined =>
  /^(?:bearer|dpop) +([^ ]+) *$/i.exec(authorization ?? '')?.[1]

/** What a proof of the request must be about. */
export const provenRequest = ({ headers, method = '', url = '' }: IncomingMessage): ProvenRequest => ({
  dpop: headers.dpop as string | undefined,
  host: headers.host ?? '',
  method,
  path: url.split('?', 1)[0]!,
})
