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

  // Called at the times of MCM.CRON: selvedge dev . --env 'MCM.CRON=*/5 * * * *'
  async scheduled(event, _env, ctx) {
    ctx.storage.setItem('last', new Date(event.scheduledTime).toISOString())
  },
} satisfies Worker
