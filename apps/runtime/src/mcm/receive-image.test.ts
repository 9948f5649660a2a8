/** Uploads of images that nothing stores. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, it } from 'vitest'
import { opens, writeUntilFull } from '../../../../tests/harness/unread.ts'
import { receiveImage } from './receive-image.ts'

const multipart =
  '--b\r\nContent-Disposition: form-data; name="image"; filename="i.tar"\r\nContent-Type: application/x-tar\r\n\r\n'

it.each([
  { sent: 'as multipart', type: 'multipart/form-data; boundary=b', start: multipart },
  { sent: 'as the bare archive', type: 'application/x-tar', start: '' },
])(
  'reads no more of an upload than is stored, sent $sent',
  opens('apps/runtime/src/mcm/receive-image.ts'),
  async ({ type, start }) => {
    const received = Promise.withResolvers<void>()
    const server = createServer((request) => {
      const never = () => {
        received.resolve()
        return new Promise<never>(() => undefined)
      }
      receiveImage(request, { archive: never, source: never }).catch(() => undefined)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)
    client.write(
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nContent-Length: 1000000000\r\n\r\n${start}`,
    )
    const accepted = await writeUntilFull(client)
    await received.promise
    expect(accepted).toBeLessThan(50_000_000)
    client.destroy()
    server.closeAllConnections()
    server.close()
  },
)
