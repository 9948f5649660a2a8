import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it, vi } from 'vitest'
import { createGetJson } from './get-json.ts'

let answer: (response: ServerResponse) => void
let heard = 0
const server = createServer((_, response) => {
  heard++
  answer(response)
})
afterEach(() => {
  server.close()
  server.closeAllConnections()
  vi.restoreAllMocks()
})

/** Listens, and gets what the server answers. */
async function get(answers: typeof answer): Promise<unknown> {
  answer = answers
  heard = 0
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return createGetJson(fetch)(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
}

it('gets a document of up to 1 MiB, and no larger one', async () => {
  const text = '"'.padEnd(1024 * 1024 - 1, 'x')
  expect(await get((response) => response.end(`${text}"`))).toHaveLength(1024 * 1024 - 2)
  server.close()
  server.closeAllConnections()
  await expect(get((response) => response.end(`${text}x"`))).rejects.toThrow(
    /^http:\S+ answered with more than 1048576 bytes$/,
  )
})

it.each<[string, typeof answer]>([
  ['that is not JSON', (response) => response.end('{')],
  ['without a body', (response) => response.writeHead(204).end()],
])('rejects an answer %s', async (_, answers) => {
  await expect(get(answers)).rejects.toThrow(SyntaxError)
})

it('follows no redirect: the host was named by the configuration', async () => {
  await expect(get((response) => response.writeHead(302, { Location: '/other' }).end('{}'))).rejects.toThrow()
  expect(heard).toBe(1)
})

it('waits three seconds, and no longer', async () => {
  const limit = new AbortController()
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(limit.signal)
  const silent = get(() => limit.abort(new Error('it is late')))
  await expect(silent).rejects.toThrow('it is late')
  expect(timeout.mock.calls).toEqual([[3000]])
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
