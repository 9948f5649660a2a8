import { Readable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import Fastify from 'fastify'
import { expect, it } from 'vitest'
import { longCharacters, longStream, longText } from './send-long.ts'

async function open() {
  const app = Fastify()
  app.get<{ Params: { length: string } }>('/text/:length', async (request, reply) => {
    const text = await longText(request, reply, 'x'.repeat(Number(request.params.length)))
    return reply.type('application/json').send(text)
  })
  app.get('/stream', (request, reply) => {
    const source = Readable.from(['one ', 'two'])
    return reply.type('application/json').send(longStream(request, reply, source))
  })
  return app
}

it('a long text is compressed for a client that accepts it, and a short one is not', async () => {
  const app = await open()
  const get = (length: number, accepted?: string) =>
    app.inject({ url: `/text/${length}`, ...(accepted && { headers: { 'Accept-Encoding': accepted } }) })
  const zipped = await get(longCharacters, 'br, gzip')
  expect(zipped.headers['content-encoding']).toBe('gzip')
  expect(gunzipSync(zipped.rawPayload).toString()).toBe('x'.repeat(longCharacters))
  for (const plain of [
    await get(longCharacters - 1, 'gzip'),
    await get(longCharacters),
    await get(longCharacters, 'br'),
  ]) {
    expect(plain.headers['content-encoding']).toBeUndefined()
    expect(plain.body).toMatch(/^x+$/)
  }
})

it('a stream is compressed on its way, and ends with its reader', async () => {
  const app = await open()
  const zipped = await app.inject({ url: '/stream', headers: { 'Accept-Encoding': 'gzip' } })
  expect(zipped.headers['content-encoding']).toBe('gzip')
  expect(gunzipSync(zipped.rawPayload).toString()).toBe('one two')
  expect((await app.inject({ url: '/stream' })).body).toBe('one two')
  const reply = { header: () => undefined }
  const source = new Readable({ read() {} })
  const sent = longStream({ headers: { 'accept-encoding': 'gzip' } } as never, reply as never, source)
  sent.destroy()
  await new Promise((resolve) => source.once('close', resolve))
  expect(source.destroyed).toBe(true)
})
