import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { OAuthError } from '@selvedge/protocol'
import type { AddressSet } from '../addresses/address-set.ts'
import { addressOf } from '../http/address.ts'
import { readBody } from '../http/body.ts'
import { isUtf8Type } from '../http/content-type.ts'
import { sendJson } from '../http/send-json.ts'
import type { Log } from '../log/index.ts'
import { safely } from '../safely/safely.ts'
import { inRequest } from '../trace/trace.ts'
import { createLimitedWork } from '../work/limited-work.ts'
import { describeError } from './oauth-answer.ts'

/** The same two types for Fastify, which requires a pattern. No part of them can match in two ways, so they are linear. */
export const formType = /^application\/x-www-form-urlencoded[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i
export const jsonType = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i

const bodies = { form: 'application/x-www-form-urlencoded', json: 'application/json' } as const

export interface HotRequest {
  readonly body: string
  readonly authorization: string | undefined
  /** The DPoP header; two of them are joined by a comma, and no proof. */
  readonly dpop: string | undefined
  /** Address that the request came from. */
  readonly address: string
  /** The header `Origin`; undefined: no page sent the request. */
  readonly origin: string | undefined
  /** More headers for the answer, good or bad: the endpoint adds them. */
  readonly headers: Record<string, string>
}

/** One endpoint that answers JSON, served below the router because everything waits for it. */
export interface HotPath {
  readonly path: string
  readonly takes: keyof typeof bodies
  /** @throws OAuthError */
  readonly answer: (request: HotRequest) => Promise<object>
  /** The next nonce, for callers that send proofs (RFC 9449 § 8.2); absent if no caller does. */
  readonly nonce?: () => string
  readonly trustedProxies: AddressSet
}

/** Serves `POST <path>` itself and leaves everything else to `others`. */
export function withHotPath(
  { path, takes, answer, nonce, trustedProxies }: HotPath,
  limits: {
    readonly maxBody: number
    readonly log: Log
    readonly refuseBusy: (response: ServerResponse) => void
  },
  others: RequestListener,
): RequestListener {
  const { maxBody, log, refuseBusy } = limits
  const requests = createLimitedWork({ announced: { kind: 'requests', name: path } })
  const fail = (response: ServerResponse, cause: unknown, proof?: string, more?: Record<string, string>) => {
    const { status, body, headers } = describeError(cause, path, log, response.req)
    const wantsNonce = nonce && (proof !== undefined || body.error === 'use_dpop_nonce')
    send(response, status, body, { ...more, ...headers, ...(wantsNonce && { 'DPoP-Nonce': nonce() }) })
  }
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const { 'content-type': type = '', authorization, origin } = request.headers
    const dpop = request.headers.dpop as string | undefined
    const expected = bodies[takes]
    if (!isUtf8Type(type, expected)) {
      const message = `the content type is ${JSON.stringify(type.slice(0, 200))}; send ${expected} in UTF-8`
      return fail(response, Object.assign(new Error(message), { statusCode: 415 }))
    }
    const serveBody = async (body: Buffer | undefined) => {
      if (!body) {
        const message = `the body is larger than ${maxBody} bytes; send a smaller one`
        return fail(response, Object.assign(new Error(message), { statusCode: 413 }))
      }
      if (!isUtf8(body))
        return fail(response, new OAuthError('invalid_request', 'the body is not valid UTF-8'))
      if (!requests.hasRoom()) return refuseBusy(response)
      const address = addressOf(request, trustedProxies)
      const headers = {}
      const read: HotRequest = { body: body.toString(), authorization, dpop, address, origin, headers }
      const work = async () => {
        try {
          const result = await inRequest(response, () => answer(read))
          const next = dpop === undefined || !nonce ? undefined : { 'DPoP-Nonce': nonce() }
          send(response, 200, result, { ...headers, ...next })
        } catch (cause) {
          fail(response, cause, dpop, headers)
        }
      }
      await requests.run(work)
    }
    readBody(
      request,
      maxBody,
      safely('hotPath.answer', serveBody, () => response.destroy()),
    )
  }
  return (request, response) => {
    if (request.url === path && request.method === 'POST') serve(request, response)
    else others(request, response)
  }
}

function send(
  response: ServerResponse,
  status: number,
  body: object,
  headers?: Readonly<Record<string, string>>,
): void {
  sendJson(response, status, JSON.stringify(body), headers)
}
