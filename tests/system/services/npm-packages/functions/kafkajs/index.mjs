import { CompressionTypes, Kafka, logLevel } from 'kafkajs'

/** Sends messages, compressed too, of which one has 100 kB, and reads them as a member of a group. */
export default {
  async fetch(_request, env) {
    const kafka = new Kafka({ brokers: [`${env.HOST}:${env.KAFKA}`], logLevel: logLevel.ERROR })
    const producer = kafka.producer()
    await producer.connect()
    const topic = 'meter'
    await producer.send({
      topic,
      messages: [
        { key: 'a', value: 'first' },
        { key: 'b', value: 'x'.repeat(100_000) },
      ],
    })
    await producer.send({
      topic,
      compression: CompressionTypes.GZIP,
      messages: [{ key: 'c', value: 'last', headers: { unit: 'kWh' } }],
    })
    await producer.disconnect()
    const consumer = kafka.consumer({ groupId: 'readers' })
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    const read = []
    await new Promise((resolve, reject) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
      consumer.run({
        async eachMessage({ message }) {
          const unit = message.headers.unit ? String(message.headers.unit) : ''
          read.push(`${message.key} ${message.value.length} ${unit}`.trim())
          if (read.length === 3) resolve()
        },
      })
    })
    await consumer.disconnect()
    return Response.json(read.sort())
  },
}
