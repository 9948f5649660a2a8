/** The `response` of a handler, in the words of this API family and of Node. */
import type { HandlerResponse } from '@selvedge/client/function'
import { decodeBase64 } from './binary-text.ts'
import type { Files } from './storage.ts'

type Chunk = string | Uint8Array<ArrayBuffer>

/** Statuses without a body (Fetch standard, "null body status"). */
const bodiless = new Set([101, 103, 204, 205, 304])

/** @param resolve gets the answer, once @param reject gets what makes an answer impossible: a wrong status, for example */
export function createHandlerResponse(
  files: Files,
  resolve: (response: Response) => void,
  reject: (cause: unknown) => void,
): HandlerResponse {
  const headers = new Headers()
  const parts: Chunk[] = []
  let isEnded = false

  function finish(response: HandlerResponse): void {
    isEnded = true
    const status = Number(response.statusCode)
    const body = parts.length === 0 || bodiless.has(status) ? null : new Blob(parts)
    try {
      resolve(new Response(body, { status, headers }))
    } catch (cause) {
      reject(cause)
    }
  }

  return {
    statusCode: 200,
    get headersSent() {
      return isEnded
    },
    get finished() {
      return isEnded
    },
    setHeader(name, value) {
      headers.delete(name)
      for (const each of Array.isArray(value) ? value : [value]) headers.append(name, String(each))
      return true
    },
    getHeader: (name) => headers.get(name) ?? undefined,
    removeHeader: (name) => headers.delete(name),
    writeHead(status, ...rest) {
      this.statusCode = status
      const given = rest.findLast((each) => typeof each === 'object' && each !== null) ?? {}
      for (const [name, value] of Object.entries(given)) this.setHeader(name, value)
      return this
    },
    write(chunk) {
      if (!isEnded) parts.push(chunk)
      return true
    },
    end(chunk) {
      if (isEnded) return
      if (chunk !== undefined && chunk !== null) parts.push(chunk)
      finish(this)
    },
    writeMimeFile(path, mimeType) {
      const file = files.read(String(path))
      if (file === null) {
        this.writeHead(404, { 'Content-Type': 'application/json' })
        this.end(JSON.stringify({ code: 404, message: 'there is no such file' }))
        return
      }
      this.setHeader('Content-Type', mimeType ?? 'application/octet-stream')
      this.end(decodeBase64(file))
    },
  }
}
