import grpc from '@grpc/grpc-js'

const asJson = (value) => Buffer.from(JSON.stringify(value))
const ofJson = (bytes) => JSON.parse(bytes.toString())

/** A unary call, a stream of the server, and a call that fails with a status and trailers. */
export default {
  async fetch(_request, env) {
    const client = new grpc.Client(`${env.HOST}:${env.GRPC}`, grpc.credentials.createInsecure())
    const call = (path, value) =>
      new Promise((resolve, reject) =>
        client.makeUnaryRequest(path, asJson, ofJson, value, (cause, answer) =>
          cause ? reject(cause) : resolve(answer),
        ),
      )
    const doubled = await call('/meter.Meter/Double', { value: 21 })
    const values = await client.makeServerStreamRequest('/meter.Meter/Count', asJson, ofJson, 1000).toArray()
    const failure = await call('/meter.Meter/Fail', {}).catch(({ code, details, metadata }) => ({
      code,
      details,
      reason: metadata.get('reason')[0],
    }))
    client.close()
    return Response.json({ doubled, count: values.length, failure })
  },
}
