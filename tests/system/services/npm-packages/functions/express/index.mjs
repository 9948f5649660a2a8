import { Readable } from 'node:stream'
import { callOf, toWorker } from '@selvedge/client/function/node'
import express from 'express'

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

const app = express()
app.get('/users/:id', ({ params, query }, response) =>
  response.set('Set-Cookie', cookies).json({ id: params.id, q: query.q }),
)
app.post('/sum', express.json(), ({ body }, response) => response.json({ sum: body.a + body.b }))
app.post('/length', async (request, response) => {
  let length = 0
  for await (const chunk of request) length += chunk.length
  response.json({ length })
})
app.get('/large', (_request, response) => Readable.from(large()).pipe(response))
app.get('/count', (request, response) => response.json(count(request)))
app.get('/broken', () => {
  throw new Error('broken')
})
app.use((error, _request, response, _next) => response.status(503).json({ error: error.message }))

if (!process.env.ADAPTED) app.listen(3000)

export default process.env.ADAPTED && toWorker(app)
