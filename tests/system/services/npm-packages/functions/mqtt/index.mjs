import mqtt from 'mqtt'

export default {
  async fetch(_request, env) {
    const client = await mqtt.connectAsync(`mqtt://${env.HOST}:${env.MQTT}`)
    await client.subscribeAsync('meter/#', { qos: 1 })
    const message = new Promise((resolve) =>
      client.once('message', (topic, payload) => resolve({ topic, size: payload.length })),
    )
    await client.publishAsync('meter/1', 'x'.repeat(100_000), { qos: 1 })
    const answer = await message
    await client.endAsync()
    return Response.json(answer)
  },
}
