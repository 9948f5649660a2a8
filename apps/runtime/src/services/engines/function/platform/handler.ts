/** The handler convention of this API family: `mimikModule.exports = (context, request, response) => …`. */
import type { ServiceInfo } from '../control.ts'
import type { Storage } from './storage.ts'

export interface Surroundings {
  readonly env: Readonly<Record<string, string>>
  readonly info: ServiceInfo
  readonly storage: Storage
  readonly fetch: typeof globalThis.fetch
  readonly identityToken: (audience: string) => Promise<unknown>
}

interface HttpRequest {
  readonly type?: string
  readonly url: string
  readonly authorization?: string
  readonly headers?: Record<string, string>
  readonly data?: string | object
  readonly success?: (result: { data: string; status: number }) => void
  readonly error?: (error: { message: string; status: number; content: string }) => void
}

type Handler = (context: unknown, request: unknown, response: unknown) => unknown

/** Gives the function that serves a request. */
export function hostHandler(handler: Handler, { env, info, storage, fetch, identityToken }: Surroundings) {
  const context = { env, info, storage, http: { request: createHttpRequest(fetch) }, identityToken }

  return async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url)
    const headers = Object.fromEntries(request.headers)
    const body = await request.text()
    return new Promise((resolve, reject) => {
      const parts: (string | Uint8Array)[] = []
      const sent = new Headers()
      const response = {
        statusCode: 200,
        setHeader: (name: string, value: string | number) => sent.set(name, String(value)),
        write: (chunk: string | Uint8Array) => void parts.push(chunk),
        end(chunk?: string | Uint8Array) {
          if (chunk !== undefined && chunk !== null) parts.push(chunk)
          const isEmpty = parts.length === 0
          try {
            resolve(
              new Response(isEmpty ? null : (new Blob(parts as BlobPart[]) as BodyInit), {
                status: Number(response.statusCode),
                headers: sent,
              }),
            )
          } catch (cause) {
            reject(cause)
          }
        },
      }
      const asked = {
        url: pathname + search,
        method: request.method,
        headers,
        authorization: headers.authorization,
        body,
      }
      Promise.resolve()
        .then(() => handler(context, asked, response))
        .catch(reject)
    })
  }
}

/** `context.http.request`, on top of `fetch`. */
function createHttpRequest(fetch: typeof globalThis.fetch) {
  return ({ type = 'GET', url, authorization, headers = {}, data, success, error }: HttpRequest): void => {
    const text = data === undefined || typeof data === 'string' ? data : JSON.stringify(data)
    const run = async () => {
      const response = await fetch(url, {
        method: type,
        headers: {
          ...headers,
          ...(authorization !== undefined && { authorization: authorization.split('\n')[0]!.trim() }),
        },
        ...(text !== undefined && { body: text }),
      })
      const content = await response.text()
      if (response.ok) success?.({ data: content, status: response.status })
      else
        error?.({
          message: response.statusText || `HTTP ${response.status}`,
          status: response.status,
          content,
        })
    }
    run().catch((cause: Error) => error?.({ message: cause.message, status: 0, content: '' }))
  }
}
