import type { IncomingMessage } from 'node:http'
import { readAuthorization } from '@selvedge/protocol/tokens'
import type { ProvenRequest } from '../../device/tokens/proof.ts'

/** The token of a request, and what a proof of its key must be about. */
export const provenRequest = ({ headers, method = '', url = '' }: IncomingMessage): ProvenRequest => ({
  shown: readAuthorization(headers.authorization),
  dpop: headers.dpop as string | undefined,
  host: headers.host ?? '',
  method,
  path: url.split('?', 1)[0]!,
})
