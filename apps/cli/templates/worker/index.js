// A module worker: the convention of today's edge platforms. Bodies may be streams, and WebSockets are upgraded here.
export default {
  async fetch(request, _env, ctx) {
    const { pathname } = new URL(request.url)
    ctx.waitUntil(Promise.resolve().then(() => console.log(request.method, pathname)))
    return Response.json({ hello: 'from the edge', path: pathname, service: ctx.info.serviceType })
  },
}
