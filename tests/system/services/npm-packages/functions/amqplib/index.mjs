import amqp from 'amqplib'

/** Publishes with confirmation, by a routing key, a message of 100 kB; consumes it, acknowledges it, and asks for a queue that is not there. */
export default {
  async fetch(_request, env) {
    const connection = await amqp.connect(env.URL)
    const channel = await connection.createConfirmChannel()
    await channel.assertExchange('meters', 'topic', { durable: true })
    const { queue } = await channel.assertQueue('power', { durable: true })
    await channel.bindQueue(queue, 'meters', 'meter.*.power')
    const options = { persistent: true, headers: { unit: 'kWh' } }
    channel.publish('meters', 'meter.1.power', Buffer.from('x'.repeat(100_000)), options)
    channel.publish('meters', 'meter.1.voltage', Buffer.from('not routed'))
    await channel.waitForConfirms()
    const message = await new Promise((resolve) => channel.consume(queue, resolve))
    channel.ack(message)
    await channel.close()
    const other = await connection.createChannel()
    const missing = await other.checkQueue('absent').catch(({ code }) => code)
    await connection.close()
    const { fields, properties, content } = message
    return Response.json([fields.routingKey, properties.headers.unit, content.length, missing])
  },
}
