/** Clients of the events of a service (`/ws/<clientId><base path>`), which anyone may be if the service is public. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { frame, opcodes, openRaw } from '../harness/raw-websocket.ts'
import { type Services, startServices } from '../harness/services.ts'

let services: Services
let base: string
let id: string
beforeAll(async () => {
  services = await startServices()
  const source = `mimikModule.exports = (context, request, response) => {
    if (request.method === 'POST')
      for (let at = 0; at < 16; at++) context.dispatchWebSocketEvent({ type: 'news', message: 'x'.repeat(200000) })
    response.end('alive')
  }`
  const env = { 'MCM.ACCESS': 'public', 'MCM.WEBSOCKET_SUPPORT': 'true', 'MCM.IDLE_SEC': '0' }
  const deployed = await services.deploy('news', source, env)
  base = deployed.basePath
  id = deployed.id
})
afterAll(() => services.stop())

const open = (unread = false) => {
  const { hostname, port } = new URL(services.url())
  return openRaw({ host: hostname, port: Number(port) }, { path: `/ws${base}`, unread })
}
const restarts = async () => {
  const containers = await services.runtime().getContainers({ edgeAccessToken: services.token })
  return containers.find((each) => each.id === id)?.restarts
}

it('clients that read nothing have their places until they are gone', async () => {
  const first = await Promise.all(Array.from({ length: 8 }, () => open()))
  for (const { socket } of first) socket.pause()
  for (let at = 0; at < 4; at++) await services.call(base, { method: 'POST' })
  // Few at a time: the gateway refuses more than a service answers at once.
  const rest: Awaited<ReturnType<typeof open>>[] = []
  while (rest.length < 249)
    rest.push(...(await Promise.all(Array.from({ length: Math.min(8, 249 - rest.length) }, () => open()))))
  expect(rest.filter(({ status }) => status === 503)).toHaveLength(1)
  for (const { socket } of [...first, ...rest]) socket.destroy()
  await expect
    .poll(async () => {
      const { status, socket } = await open()
      socket.destroy()
      return status
    })
    .toBe(101)
  expect(await restarts()).toBe(0)
})

it.each([
  ['a message without end', frame(Buffer.alloc(16_384), { fin: false, opcode: opcodes.continuation })],
  ['a frame that declares more than any memory', frame('', { declared: 2 ** 40 })],
])('%s ends the connection of its client, and nothing else', async (_, next) => {
  const client = await open()
  expect(client.status).toBe(101)
  client.socket.on('error', () => undefined)
  client.send(frame('x', { fin: false }))
  for (let at = 0; at < 100; at++) client.send(next)
  expect(await client.closed()).toBe(1008)
  expect((await services.call(base)).text).toBe('alive')
  expect(await restarts()).toBe(0)
})
