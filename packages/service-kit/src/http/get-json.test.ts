import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it, vi } from 'vitest'
import { createGetJson } from './get-json.ts'

let answer: (response: ServerResponse) => void
const server = createServer((_, response) => answer(response))
afterEach(() => {
  server.close()
  server.closeAllConnections()
})

it('closes the connection of a refusal with an endless body', async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const closed = Promise.withResolvers<void>()
  answer = (response) => {
    response.on('close', closed.resolve)
    response.writeHead(500).write('more to come')
  }
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  // Without the time limit of the call: only the reader itself can end it.
  vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(new AbortController().signal)
  await expect(createGetJson(fetch)(url)).rejects.toThrow('answered HTTP 500')
  await closed.promise
})
