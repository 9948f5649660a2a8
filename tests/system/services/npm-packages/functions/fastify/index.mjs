import { Readable } from 'node:stream'
import { callOf, toWorker } from '@selvedge/client/function/node'
import Fastify from 'fastify'

const cookies = ['a=1', 'b=2; Path=/']

function* large() {
  for (let part = 0; part < 100; part += 1) yield Buffer.alloc(50_000, 'x')
}

function count(request) {
  const { storage } = callOf(request).ctx
  const next = Number(storage.getItem('count')) + 1
  storage.setItem('count', String(next))
  return { count: next }
}

const app = Fastify()
app.addContentTypeParser('application/octet-stream', (_request, stream, done) => done(null, stream))
app.get('/users/:id', ({ params, query }, reply) =>
  reply.header('Set-Cookie', cookies).send({ id: params.id, q: query.q }),
)
app.post('/sum', ({ body }) => ({ sum: body.a + body.b }))
app.post('/length', async ({ body }) => {
  let length = 0
  for await (const chunk of body) length += chunk.length
  return { length }
})
app.get('/large', (_request, reply) => reply.send(Readable.from(large())))
app.get('/count', ({ raw }) => count(raw))
app.get('/broken', () => {
  throw new Error('broken')
})
app.setErrorHandler((error, _request, reply) => reply.status(503).send({ error: error.message }))

if (!process.env.ADAPTED) await app.listen({ port: 3000, host: '0.0.0.0' })

export default process.env.ADAPTED && toWorker(app)
