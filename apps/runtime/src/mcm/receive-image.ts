import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { type ImageRecord, RpcError } from '@selvedge/protocol'
import { safely } from '@selvedge/service-kit/safely'
import * as z from 'zod'
import { readJsonBody } from './read-json-body.ts'

/** The field of the multipart body that holds the archive. */
const field = 'image'
const maxBody = 64 * 1024
const archiveTypes = /^application\/(x-tar|gzip|x-gzip|octet-stream|vnd\.oci\.image\.layer|x-compressed-tar)/

export interface Receivers {
  archive(content: AsyncIterable<Uint8Array>, length: number): Promise<ImageRecord>
  source(source: string): Promise<ImageRecord>
}

/**
 * Receives an image in each form that clients send: multipart with the field `image`, the bare archive, or JSON
 * `{ "source" }`. An archive goes to the disk as it arrives.
 *
 * @throws RpcError
 */
export async function receiveImage(request: IncomingMessage, receivers: Receivers): Promise<ImageRecord> {
  const type = request.headers['content-type'] ?? ''
  const length = Number(request.headers['content-length'] ?? 0)
  if (/^multipart\/form-data/i.test(type)) return fromMultipart(request, receivers, length)
  if (archiveTypes.test(type)) return receivers.archive(uploadOf(request), length)
  if (/^application\/json/i.test(type)) return receivers.source(await readSource(request))
  throw new RpcError(
    'invalid_params',
    `the content type is ${JSON.stringify(type.slice(0, 100))}; send multipart/form-data with the field "${field}", the archive as application/x-tar, or { "source" } as application/json`,
  )
}

/**
 * The body of a request as it comes. A reader that stops early leaves the connection alone: the refusal still has to go out on it,
 * and the answer drains the rest.
 *
 * @throws RpcError `invalid_image` if the client disconnects
 */
export async function* uploadOf(request: IncomingMessage): AsyncGenerator<Uint8Array, void> {
  try {
    yield* request.iterator({ destroyOnReturn: false })
  } catch (cause) {
    throw new RpcError('invalid_image', 'the upload was cut short', { cause })
  }
}

/** The answer comes as soon as the archive is accepted or refused; what is left of the body is for the listener to drain. */
async function fromMultipart(
  request: IncomingMessage,
  receivers: Receivers,
  length: number,
): Promise<ImageRecord> {
  const { Busboy } = await import('./multipart.lazy.ts')
  return new Promise((resolve, reject) => {
    const broken = safely('upload.broken', (cause: unknown) => {
      request.unpipe()
      const why = cause instanceof Error ? cause.message : String(cause)
      reject(new RpcError('invalid_image', `the multipart body is broken: ${why}`, { cause }))
    })
    const read = () => {
      const parser = new Busboy({
        headers: request.headers as never,
        limits: { files: 1, fields: 10, headerPairs: 100 },
      })
      let working: Promise<ImageRecord> | undefined
      let archive: Readable | undefined
      const cut = (why: string) => archive?.destroy(new RpcError('invalid_image', why))
      const onFile = (name: string, content: Readable) => {
        // A stream of the parser that ends in an error has to have a listener, even if nothing reads it.
        content.on('error', broken)
        if (name !== field || working) {
          content.resume()
          return
        }
        archive = content
        working = receivers.archive(content, length)
        working.then(resolve, (cause) => {
          request.unpipe()
          reject(cause)
        })
      }
      const onFinish = () => {
        if (!working)
          reject(new RpcError('invalid_params', `the multipart body has no file field "${field}"`))
      }
      const onError = (cause: unknown) => {
        cut(`the multipart body is broken: ${(cause as Error).message}`)
        broken(cause)
      }
      parser.on('file', safely('upload.file', onFile, broken))
      parser.on('finish', safely('upload.finish', onFinish, reject))
      parser.on('error', safely('upload.error', onError, reject))
      request.on('error', broken)
      // A client that disconnects leaves the archive incomplete.
      const onClose = () => {
        if (request.complete) return
        cut('the upload was cut short')
        reject(new RpcError('invalid_image', 'the upload was cut short'))
      }
      request.once('close', safely('upload.close', onClose, reject))
      request.pipe(parser)
    }
    try {
      read()
    } catch (cause) {
      broken(cause)
    }
  })
}

const sourceBody = z.object({ source: z.string().min(1).max(4096) })

async function readSource(request: IncomingMessage): Promise<string> {
  const read = sourceBody.safeParse(await readJsonBody(request, maxBody))
  if (read.success) return read.data.source
  throw new RpcError('invalid_params', 'send { "source": "<path, upload: handle or reference>" }')
}
