import type { IncomingMessage } from 'node:http'
import { RpcError } from '@selvedge/protocol'
import { JsonError, parseJson } from '@selvedge/protocol/jsonrpc'
import { readBody } from '@selvedge/service-kit/http'
import { safely } from '@selvedge/service-kit/safely'

/**
 * The body of a request as strict JSON. What it means is for a schema.
 *
 * @param limit bytes
 * @throws RpcError `limit_exceeded` | `invalid_params`
 */
export function readJsonBody(request: IncomingMessage, limit: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const parse = (body: Buffer | undefined) => {
      if (!body) throw new RpcError('limit_exceeded', `the body is larger than ${limit} bytes`)
      try {
        resolve(parseJson(body.toString()))
      } catch (cause) {
        if (!(cause instanceof JsonError)) throw cause
        throw new RpcError('invalid_params', `the body is not strict JSON: ${cause.message}`, { cause })
      }
    }
    readBody(request, limit, (body) => {
      try {
        parse(body)
      } catch (cause) {
        reject(cause)
      }
    })
    request.on(
      'close',
      safely('mcm.body-close', () => {
        if (!request.complete) reject(new RpcError('invalid_params', 'the body was cut short'))
      }),
    )
  })
}
