/** `context.http.request`, on top of `fetch`. */
import { joined } from './bytes.ts'
import { type Callbacks, callOnce } from './once.ts'
import { decode, encode, stringify } from './own.ts'

interface HttpResult {
  readonly data: string
  readonly status: number
}

interface HttpError {
  readonly message: string
  /** 0 without an answer. */
  readonly status: number
  readonly content: string
}

interface HttpRequest extends Callbacks<HttpResult, HttpError> {
  /** Default: GET. */
  readonly type?: string
  readonly url: string
  readonly authorization?: string
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON. */
  readonly data?: unknown
}

/** Bytes of an answer. */
export const maxAnswerBytes = 16 * 1024 * 1024

/** @returns sends a request; the answer or the failure is for its callbacks, and never thrown */
export function createHttpRequest(fetch: typeof globalThis.fetch): (request: HttpRequest) => void {
  return (request) => {
    const { succeed, fail } = callOnce(request ?? {})
    send(fetch, request)
      .then(({ isOk, message, status, content }) => {
        if (isOk) succeed({ data: content, status })
        else fail({ message, status, content })
      })
      .catch((cause: unknown) => fail({ message: messageOf(cause), status: 0, content: '' }))
  }
}

export const messageOf = (cause: unknown): string => String((cause as Error | undefined)?.message ?? cause)

async function send(fetch: typeof globalThis.fetch, request: HttpRequest) {
  const response = await fetch(String(request.url), {
    method: String(request.type ?? 'GET').toUpperCase(),
    headers: headersOf(request),
    ...bodyOf(request.data),
  })
  const { ok: isOk, status, statusText } = response
  const content = await readAnswer(response)
  return { isOk, status, content, message: statusText || `HTTP ${status}` }
}

/** Services for old engines put further headers behind a line break into `authorization`: they were for relays, and are dropped. */
function headersOf({ headers, authorization }: HttpRequest): Headers {
  const all = new Headers(headers ?? {})
  const [credentials = ''] = String(authorization ?? '').split(/[\r\n]/)
  if (credentials.trim() !== '') all.set('authorization', credentials.trim())
  return all
}

/** As bytes: `fetch` adds a content type to a text. */
function bodyOf(data: unknown): { body?: Uint8Array<ArrayBuffer> } {
  if (data === undefined || data === null) return {}
  if (data instanceof Uint8Array) return { body: new Uint8Array(data) }
  return { body: encode(typeof data === 'object' ? stringify(data) : String(data)) }
}

async function readAnswer({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body ?? []) {
    size += part.length
    if (size > maxAnswerBytes) throw new Error(`the answer has more than ${maxAnswerBytes} bytes`)
    parts.push(part)
  }
  return decode(joined(parts))
}
