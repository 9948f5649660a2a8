/** Uploads of images that nothing stores. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { opens, writeUntilFull } from '../../../../../tests/harness/unread.ts'
import type { Naming } from '../../services/images/image-name.ts'
import { fileNameOf, receiveImage } from './receive-image.ts'

const multipart =
  '--b\r\nContent-Disposition: form-data; name="image"; filename="i.tar"\r\nContent-Type: application/x-tar\r\n\r\n'

it.each([
  { sent: 'as multipart', type: 'multipart/form-data; boundary=b', start: multipart },
  { sent: 'as the bare archive', type: 'application/x-tar', start: '' },
])(
  'reads no more of an upload than is stored, sent $sent',
  opens('apps/runtime/src/api/mcm/receive-form.ts'),
  async ({ type, start }) => {
    const received = Promise.withResolvers<void>()
    const server = createServer((request) => {
      const never = () => {
        received.resolve()
        return new Promise<never>(() => undefined)
      }
      receiveImage(request, {}, { archive: never, source: never }).catch(() => undefined)
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

describe('the name of an upload', () => {
  /** The names that a receiver gets, with these parts of a form or this header. */
  async function namingOf(
    headers: Record<string, string>,
    body: string,
    query: Naming = {},
  ): Promise<unknown> {
    const request = Object.assign(Readable.from([Buffer.from(body)]), { headers, complete: true })
    const archive = async (
      content: AsyncIterable<Uint8Array>,
      _: number,
      naming: Naming | Promise<Naming>,
    ) => {
      for await (const _chunk of content);
      return (await naming) as never
    }
    const named = { file: fileNameOf(request as never), ...query }
    return receiveImage(request as never, named, {
      archive,
      source: async (_, { name, now }) => ({ given: name, ...(now && { now }) }) as never,
    })
  }
  const part = (name: string, value: string, more = '') =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
  const form = { 'content-type': 'multipart/form-data; boundary=b' }
  const image = part('image', 'x', '; filename="my.tar"')

  it.each([
    ['nothing', image, { given: undefined, file: 'my.tar' }],
    ['a field before the file', part('name', 'app') + image, { given: 'app', file: 'my.tar' }],
    ['a field after the file', image + part('name', 'app'), { given: 'app', file: 'my.tar' }],
  ])('of a form with %s', async (_, parts, expected) => {
    expect(await namingOf(form, `${parts}--b--\r\n`)).toEqual(expected)
  })

  it.each([part('name', 'App') + image, image + part('name', '../x'), image + part('name', '')])(
    'is refused if it is no name: %j',
    async (parts) => {
      await expect(namingOf(form, `${parts}--b--\r\n`)).rejects.toMatchObject({ reason: 'invalid_params' })
    },
  )

  it('of a form that is cut short after the file is not waited for', async () => {
    await expect(namingOf(form, image)).rejects.toMatchObject({ reason: 'invalid_image' })
  })

  it.each([
    [`attachment; filename*=UTF-8''my%20app.tar`, 'my app.tar'],
    ['attachment; filename="my.tar"', 'my.tar'],
    [`attachment; filename*=UTF-8''%ff`, undefined],
    ['attachment; filename=', undefined],
    [`attachment; filename="${'x'.repeat(256)}"`, undefined],
    ['attachment', undefined],
  ])('of a bare archive with Content-Disposition: %s', async (disposition, file) => {
    const headers = { 'content-type': 'application/x-tar', 'content-disposition': disposition }
    expect(await namingOf(headers, 'x')).toEqual({ file })
  })

  it('of a source is in the query or beside it', async () => {
    const json = { 'content-type': 'application/json' }
    expect(await namingOf(json, '{"source":"x"}', { given: 'q' })).toEqual({ given: 'q' })
    expect(await namingOf(json, '{"source":"x","name":"n"}', { given: 'q' })).toEqual({ given: 'n' })
    expect(await namingOf(json, '{"source":"x","now":true}')).toEqual({ now: true })
    await expect(namingOf(json, '{"source":"x","now":"yes"}')).rejects.toMatchObject({
      reason: 'invalid_params',
    })
    await expect(namingOf(json, '{"source":"x","name":"N/"}')).rejects.toMatchObject({
      reason: 'invalid_params',
    })
  })
})
