import ModbusRTU from 'modbus-serial'

export default {
  async fetch(_request, env) {
    const client = new ModbusRTU()
    await client.connectTCP(env.HOST, { port: Number(env.MODBUS) })
    client.setID(1)
    await client.writeRegister(5, 1234)
    const { data } = await client.readHoldingRegisters(4, 3)
    await new Promise((resolve) => client.close(resolve))
    return Response.json(data)
  },
}
