// A module worker: the convention of today's edge platforms. Bodies may be streams, and WebSockets are upgraded here.
import type { Worker } from './selvedge/index.ts'

export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url)
    ctx.waitUntil(Promise.resolve().then(() => console.log(request.method, pathname)))
    return Response.json({
      hello: env.NAME ?? 'from the edge',
      path: pathname,
      service: ctx.info.serviceType,
    })
  },
} satisfies Worker
