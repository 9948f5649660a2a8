import { once } from 'node:events'
import { connect } from 'node:net'
import modbus from 'jsmodbus'

export default {
  async fetch(_request, env) {
    const Client = modbus.client?.TCP ?? modbus.ModbusTCPClient
    const socket = connect({ host: env.HOST, port: Number(env.MODBUS) })
    const client = new Client(socket, 1)
    await once(socket, 'connect')
    const { response } = await client.readHoldingRegisters(1, 2)
    socket.end()
    return Response.json([...response.body.values])
  },
}
