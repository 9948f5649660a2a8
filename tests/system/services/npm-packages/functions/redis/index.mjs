import { createClient } from 'redis'

export default {
  async fetch(_request, env) {
    const client = createClient({ url: `redis://${env.HOST}:${env.REDIS}` })
    await client.connect()
    await client.hSet('redis', { a: '1', b: '2' })
    const answer = await client.hGetAll('redis')
    await client.close()
    return Response.json({ ...answer })
  },
}
