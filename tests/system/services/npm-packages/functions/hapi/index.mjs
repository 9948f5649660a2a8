import { Readable } from 'node:stream'
import Hapi from '@hapi/hapi'
import { callOf, toWorker } from '@selvedge/client/function/node'

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

const server = Hapi.server({ port: 3000 })
server.route([
  {
    method: 'GET',
    path: '/users/{id}',
    handler: ({ params, query }, h) =>
      h
        .response({ id: params.id, q: query.q })
        .header('Set-Cookie', cookies[0])
        .header('Set-Cookie', cookies[1], { append: true }),
  },
  { method: 'POST', path: '/sum', handler: ({ payload }) => ({ sum: payload.a + payload.b }) },
  {
    method: 'POST',
    path: '/length',
    options: { payload: { output: 'stream', parse: false, maxBytes: 1e8 } },
    async handler({ payload }) {
      let length = 0
      for await (const chunk of payload) length += chunk.length
      return { length }
    },
  },
  {
    method: 'GET',
    path: '/large',
    handler: (_request, h) => h.response(Readable.from(large(), { objectMode: false })),
  },
  { method: 'GET', path: '/count', handler: ({ raw }) => count(raw.req) },
  {
    method: 'GET',
    path: '/broken',
    handler: (_request, h) => h.response({ error: 'broken' }).code(503),
  },
])
await (process.env.ADAPTED ? server.initialize() : server.start())

export default process.env.ADAPTED && toWorker(server.listener)
