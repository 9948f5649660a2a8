import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { OAuthError } from '@selvedge/protocol'
import { readBody } from '../http/body.ts'
import { sendJson } from '../http/send-json.ts'
import type { Log } from '../log/log.ts'
import { describeError } from './oauth-answer.ts'

/** A form, in UTF-8 if it says anything of it. */
const formType = /^application\/x-www-form-urlencoded(?:\s*;\s*charset="?utf-8"?)?\s*$/i

/** One endpoint that takes a form and answers JSON, served below the router because everything waits for it. */
export interface HotPath {
  readonly path: string
  /** @throws OAuthError */
  readonly answer: (form: string, authorization: string | undefined) => Promise<object>
}

/** Serves `POST <path>` itself and leaves everything else to `others`. */
export function withHotPath(
  { path, answer }: HotPath,
  limits: { readonly maxBody: number; readonly log: Log },
  others: RequestListener,
): RequestListener {
  const { maxBody, log } = limits
  const fail = (response: ServerResponse, cause: unknown) => {
    const { status, body } = describeError(cause, path, log)
    send(response, status, body)
  }
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const { 'content-type': type = '', authorization } = request.headers
    if (!formType.test(type)) {
      request.resume()
      const message = `the content type is ${JSON.stringify(type)}; send application/x-www-form-urlencoded`
      return fail(response, Object.assign(new Error(message), { statusCode: 415 }))
    }
    readBody(request, maxBody, (body) => {
      if (!body) {
        const message = `the body is larger than ${maxBody} bytes; send a smaller one`
        return fail(response, Object.assign(new Error(message), { statusCode: 413 }))
      }
      if (!isUtf8(body))
        return fail(response, new OAuthError('invalid_request', 'the body is not valid UTF-8'))
      answer(body.toString(), authorization).then(
        (result) => send(response, 200, result),
        (cause: unknown) => fail(response, cause),
      )
    })
  }
  return (request, response) => {
    if (request.url === path && request.method === 'POST') serve(request, response)
    else others(request, response)
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  sendJson(response, status, JSON.stringify(body))
}
