/**
 * `POST /token` of the runtime (RFC 6749 § 3.2): exchanges a lease for a local token. The listener's guard has let the request
 * through: a page of another site does not get here.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { OAuthError } from '@selvedge/protocol'
import { localTokenPath } from '@selvedge/protocol/tokens'
import { isUtf8Type, readBody, sendJson } from '@selvedge/service-kit/http'
import type { Log } from '@selvedge/service-kit/log'
import { describeError, parseForm } from '@selvedge/service-kit/oauth'
import { safely } from '@selvedge/service-kit/safely'
import type { Leases } from '../device/leases/leases.ts'

/** Bytes of a form: a lease, and little else. */
const maxFormBytes = 16 * 1024
const formType = 'application/x-www-form-urlencoded'

export interface TokenEndpointParts {
  readonly leases: Pick<Leases, 'exchange'>
  /** The next DPoP nonce: each answer has one, so that a client gets it with an empty request. */
  readonly nonce: () => string
  readonly log: Log
}

/** @returns whether the request was for the endpoint and is answered */
export type TokenEndpoint = (request: IncomingMessage, response: ServerResponse) => boolean

export function createTokenEndpoint({ leases, nonce, log }: TokenEndpointParts): TokenEndpoint {
  const send = (response: ServerResponse, status: number, body: object, headers: object = {}) => {
    response.setHeader('DPoP-Nonce', nonce())
    sendJson(response, status, JSON.stringify(body), { ...headers })
  }

  function fail(response: ServerResponse, cause: unknown): void {
    const { status, body, headers } = describeError(cause, localTokenPath, log, response.req)
    // What is left of the body is not read.
    send(response, status, body, { ...headers, Connection: 'close' })
  }

  async function answer(response: ServerResponse, body: Buffer | undefined, proof: string): Promise<void> {
    try {
      if (!body) throw refusal(413, `the body is larger than ${maxFormBytes} bytes`)
      if (!isUtf8(body)) throw new OAuthError('invalid_request', 'the body is not valid UTF-8')
      send(response, 200, await leases.exchange(parseForm(body.toString()), proof))
    } catch (cause) {
      fail(response, cause)
    }
  }

  return (request, response) => {
    if (request.url !== localTokenPath) return false
    const problem = problemOf(request)
    if (problem) fail(response, problem)
    else
      readBody(
        request,
        maxFormBytes,
        safely(
          'token.answer',
          (body: Buffer | undefined) => answer(response, body, request.headers.dpop as string),
          () => response.destroy(),
        ),
      )
    return true
  }
}

const refusal = (statusCode: number, message: string): Error =>
  Object.assign(new Error(message), { statusCode })

/** What is wrong with a request by its headers: then its body is not read. */
function problemOf({ method, headers }: IncomingMessage): Error | undefined {
  if (method !== 'POST') return refusal(405, 'send POST')
  if (!isUtf8Type(headers['content-type'], formType))
    return refusal(415, `the content type is not ${formType} in UTF-8`)
  if (headers.dpop !== undefined) return undefined
  return new OAuthError(
    'invalid_dpop_proof',
    'a lease is exchanged with a DPoP proof of the key that it is bound to',
  )
}
