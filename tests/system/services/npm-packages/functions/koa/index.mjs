import { Readable } from 'node:stream'
import { callOf, toWorker } from '@selvedge/client/function/node'
import Koa from 'koa'

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

const app = new Koa()
app.use(async (ctx, next) => {
  try {
    await next()
  } catch (error) {
    ctx.status = 503
    ctx.body = { error: error.message }
  }
})
app.use(async (ctx) => {
  if (ctx.path === '/broken') throw new Error('broken')
  if (ctx.path === '/count') ctx.body = count(ctx.req)
  else if (ctx.path === '/large') ctx.body = Readable.from(large())
  else if (ctx.path === '/length') {
    let length = 0
    for await (const chunk of ctx.req) length += chunk.length
    ctx.body = { length }
  } else if (ctx.path === '/sum') {
    const { a, b } = JSON.parse(Buffer.concat(await ctx.req.toArray()).toString())
    ctx.body = { sum: a + b }
  } else {
    ctx.set('Set-Cookie', cookies)
    ctx.body = { id: ctx.path.split('/').at(-1), q: ctx.query.q }
  }
})

if (!process.env.ADAPTED) app.listen(3000)

export default process.env.ADAPTED && toWorker(app)
