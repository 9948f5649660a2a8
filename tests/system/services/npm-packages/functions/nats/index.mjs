import { connect, StringCodec } from 'nats'

/** A subscription, a request with its reply, and a message of 100 kB. */
export default {
  async fetch(_request, env) {
    const { encode, decode } = StringCodec()
    const client = await connect({ servers: `${env.HOST}:${env.NATS}`, user: 'app', pass: 'of the app' })
    client.subscribe('meter.*', {
      callback: (_, message) => message.respond(encode(`${message.subject} ${message.data.length}`)),
    })
    const reply = await client.request('meter.1', encode('x'.repeat(100_000)), { timeout: 20_000 })
    await client.drain()
    return Response.json(decode(reply.data))
  },
}
