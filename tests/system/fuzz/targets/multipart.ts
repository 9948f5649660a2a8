import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { OAuthError, RpcError } from '@selvedge/protocol'
import { receiveImage } from '../../../../apps/runtime/src/api/mcm/receive-image.ts'
import { outcomeOfLater, type Target } from '../engine/target.ts'
import { withinTurns } from './turns.ts'

const boundary = '----boundary0123456789'
const part = (head: string, body: string) => `--${boundary}\r\n${head}\r\n\r\n${body}\r\n`
const file =
  'Content-Disposition: form-data; name="image"; filename="a.tar"\r\nContent-Type: application/x-tar'
const seed = (...parts: string[]) =>
  Buffer.from(`multipart/form-data; boundary=${boundary}\n${parts.join('')}--${boundary}--\r\n`, 'latin1')

/** Content type, and after a line break the body. A byte of the body says whether the client goes away before the end. */
function requestOf(input: Buffer): IncomingMessage {
  const end = Math.max(0, input.indexOf(0x0a))
  const body = input.subarray(end + 1)
  const isCut = body.length > 0 && body[body.length - 1] === 0x21
  const size = body.length % 3 === 0 ? 100 : 64 * 1024
  const request = new Readable({ read() {}, autoDestroy: true }) as Readable & {
    headers: object
    complete: boolean
  }
  request.headers = {
    'content-type': input.toString('latin1', 0, end),
    'content-length': String(body.length),
  }
  request.complete = false
  const feed = async () => {
    for (let at = 0; at < body.length; at += size) {
      request.push(body.subarray(at, at + size))
      await new Promise((resolve) => setImmediate(resolve))
      if (request.destroyed) return
    }
    if (isCut) return void request.destroy()
    request.complete = true
    request.push(null)
  }
  void feed()
  return request as unknown as IncomingMessage
}

/** Uploads of images. */
export const multipart: Target = {
  name: 'multipart',
  covers: ['apps/runtime/src/api/mcm/receive-image.ts'],
  seeds: () => [
    seed(part(file, 'archive '.repeat(40))),
    seed(part('Content-Disposition: form-data; name="note"', 'text'), part(file, 'x'.repeat(20_000))),
    seed(part('Content-Disposition: form-data; name="other"; filename="b"', 'other')),
    Buffer.from('application/x-tar\nthe archive itself'),
    Buffer.from('application/json\n{"source":"/tmp/a.tar"}'),
  ],
  words: [
    `--${boundary}`,
    `--${boundary}--`,
    '\r\n\r\n',
    'Content-Disposition: form-data; name="image"; filename="',
    'Content-Disposition: form-data; name="name"\r\n\r\nx\r\n',
    'Content-Transfer-Encoding: base64\r\n',
    "filename*=utf-8''%ff",
    'boundary=',
    'charset=utf-16le',
    '!',
  ],
  open: () => ({
    parse: (input) =>
      outcomeOfLater(
        () =>
          withinTurns(
            receiveImage(
              requestOf(input),
              {},
              {
                archive: async (content, _length, naming) => {
                  let size = 0
                  for await (const chunk of content) {
                    size += chunk.length
                    if (size > 30_000)
                      throw new RpcError('invalid_image', 'the archive is refused before its end')
                  }
                  return { size, ...(await naming) } as never
                },
                source: async (source) => ({ source }) as never,
              },
            ),
          ),
        [RpcError, OAuthError],
      ),
  }),
}
