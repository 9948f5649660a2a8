import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { RpcError } from '@selvedge/protocol'
import { expect, it, onTestFinished, vi } from 'vitest'
import { refusalOf, refuseUpgrade } from './refusal.ts'

it('a refused upgrade names the scheme of tokens, and closes the connection of a client that does not', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const server = createServer()
  const connection = once(server, 'connection')
  server.on('upgrade', (request, socket) =>
    refuseUpgrade(request, socket, refusalOf(new RpcError('token_missing', 'there is no token'))),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  let received = ''
  client.setEncoding('utf8').on('data', (chunk) => {
    received += chunk
  })
  await once(client, 'end')
  expect(received).toMatch(/^HTTP\/1\.1 401 Refused\r\n/)
  expect(received).toContain('\r\nWWW-Authenticate: Bearer\r\n')
  expect(received).toContain('"reason":"token_missing"')
  const [own] = (await connection) as [Socket]
  const closed = once(own, 'close')
  vi.advanceTimersByTime(2000)
  await closed
  client.destroy()
  server.close()
})
