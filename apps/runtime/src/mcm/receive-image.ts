import type { IncomingMessage } from 'node:http'
import { type ImageRecord, RpcError } from '@selvedge/protocol'
import { readBody } from '@selvedge/service-kit/http'

/** The field of the multipart body that holds the archive. */
const field = 'image'
const maxBody = 64 * 1024
const archiveTypes = /^application\/(x-tar|gzip|x-gzip|octet-stream|vnd\.oci\.image\.layer|x-compressed-tar)/

export interface Receivers {
  archive(content: AsyncIterable<Uint8Array>, length: number): Promise<ImageRecord>
  source(source: string): Promise<ImageRecord>
}

/**
 * Takes an image in any of the ways that clients send one: multipart with the field `image`, the bare archive, or JSON
 * `{ "source" }`. An archive goes to the disk as it arrives.
 *
 * @throws RpcError
 */
export async function receiveImage(request: IncomingMessage, receivers: Receivers): Promise<ImageRecord> {
  const type = request.headers['content-type'] ?? ''
  const length = Number(request.headers['content-length'] ?? 0)
  if (/^multipart\/form-data/i.test(type)) return fromMultipart(request, receivers, length)
  if (archiveTypes.test(type)) return receivers.archive(request, length)
  if (/^application\/json/i.test(type)) return receivers.source(await readSource(request))
  throw new RpcError(
    'invalid_params',
    `the content type is ${JSON.stringify(type.slice(0, 100))}; send multipart/form-data with the field "${field}", the archive as application/x-tar, or { "source" } as application/json`,
  )
}

async function fromMultipart(
  request: IncomingMessage,
  receivers: Receivers,
  length: number,
): Promise<ImageRecord> {
  const { Busboy } = await import('./multipart.lazy.ts')
  return new Promise((resolve, reject) => {
    const broken = (cause: unknown) =>
      reject(
        new RpcError('invalid_image', `the multipart body is broken: ${(cause as Error).message}`, { cause }),
      )
    let parser: InstanceType<typeof Busboy>
    try {
      parser = new Busboy({
        headers: request.headers as never,
        limits: { files: 1, fields: 10, headerPairs: 100 },
      })
    } catch (cause) {
      return broken(cause)
    }
    let working: Promise<ImageRecord> | undefined
    parser.on('file', (name, content) => {
      if (name !== field || working) {
        content.resume()
        return
      }
      working = receivers.archive(content, length)
      working.catch(() => content.resume())
      // A client that goes away leaves the archive cut short.
      request.once('close', () => {
        if (!request.complete) content.destroy(new RpcError('invalid_image', 'the upload was cut short'))
      })
    })
    parser.on('error', broken)
    parser.on('finish', () => {
      if (working) working.then(resolve, reject)
      else
        reject(
          new RpcError(
            'invalid_params',
            `no image received: the multipart body has no file field "${field}"`,
          ),
        )
    })
    request.on('error', broken)
    request.pipe(parser)
  })
}

function readSource(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    readBody(request, maxBody, (body) => {
      try {
        const { source } = JSON.parse(body?.toString() ?? '') as { source?: unknown }
        if (typeof source !== 'string' || source === '') throw new SyntaxError('no source')
        resolve(source)
      } catch {
        reject(new RpcError('invalid_params', 'send { "source": "<path, upload: handle or reference>" }'))
      }
    })
  })
}
