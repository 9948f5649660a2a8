import {
  AttributeIds,
  DataType,
  MessageSecurityMode,
  OPCUAClient,
  SecurityPolicy,
  TimestampsToReturn,
  UserTokenType,
} from 'node-opcua-client'

const nodeId = 'ns=1;s=temperature'
const attributeId = AttributeIds.Value

const securities = {
  plain: { securityPolicy: SecurityPolicy.None, securityMode: MessageSecurityMode.None },
  encrypted: {
    securityPolicy: SecurityPolicy.Basic256Sha256,
    securityMode: MessageSecurityMode.SignAndEncrypt,
  },
}

/** A name and a password, browsing, a value that is written and read, a call of a method, and a subscription. */
export default {
  async fetch(request, env) {
    const security = securities[new URL(request.url).searchParams.get('name')]
    const client = OPCUAClient.create({ ...security, connectionStrategy: { maxRetry: 0 } })
    await client.connect(env.URL)
    const user = { type: UserTokenType.UserName, userName: 'app', password: 'of the app' }
    const session = await client.createSession(user)
    const { references } = await session.browse('RootFolder')
    const value = { value: { dataType: DataType.Double, value: 22.5 } }
    const written = await session.write({ nodeId, attributeId, value })
    const read = await session.read({ nodeId, attributeId })
    const inputArguments = [{ dataType: DataType.Double, value: 4 }]
    const called = await session.call({ objectId: 'ns=1;s=meter', methodId: 'ns=1;s=double', inputArguments })
    const subscription = await session.createSubscription2({
      requestedPublishingInterval: 50,
      publishingEnabled: true,
    })
    const item = await subscription.monitor(
      { nodeId, attributeId },
      { samplingInterval: 20 },
      TimestampsToReturn.Both,
    )
    const changes = []
    await new Promise((resolve) =>
      item.on('changed', (change) => {
        changes.push(change.value.value)
        if (changes.length === 2) resolve()
        else
          session.write({ nodeId, attributeId, value: { value: { dataType: DataType.Double, value: 23.5 } } })
      }),
    )
    await subscription.terminate()
    await session.close()
    await client.disconnect()
    return Response.json({
      browsed: references.map(({ browseName }) => browseName.name),
      written: written.name,
      read: read.value.value,
      called: called.outputArguments[0].value,
      changes,
    })
  },
}
