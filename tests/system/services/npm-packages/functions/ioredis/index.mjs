import { Redis } from 'ioredis'

export default {
  async fetch(_request, env) {
    const redis = new Redis({ host: env.HOST, port: Number(env.REDIS) })
    const subscriber = redis.duplicate()
    const message = new Promise((resolve) => subscriber.on('message', (_channel, text) => resolve(text)))
    await subscriber.subscribe('news')
    await redis.set('ioredis', 'x'.repeat(100_000))
    const { length } = await redis.get('ioredis')
    await redis.publish('news', 'hello')
    const answer = {
      length,
      message: await message,
      replies: await redis.pipeline().incr('n').incr('n').exec(),
    }
    await redis.quit()
    await subscriber.quit()
    return Response.json(answer)
  },
}
