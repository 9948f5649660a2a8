/** The URL of a page that a browser on this machine opens: only one of the runtime that the command reached. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Context } from './context.ts'
import { consoleUrlOf, pageUrlOf } from './page-url.ts'

let server: Server
let nodeId: string
let port: string
beforeEach(async () => {
  nodeId = 'n'
  server = createServer((_, response) => {
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { nodeId, name: 'van' } }))
  })
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  port = String((server.address() as AddressInfo).port)
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

const context = (isLocal: boolean) =>
  ({
    isLocal: () => isLocal,
    runtimeConnection: { url: 'https://device.example' },
    env: { SELVEDGE_RUNTIME_PORT: port },
    runtime: { getMe: async () => ({ nodeId: 'n' }) },
  }) as unknown as Context

it('that was named is used as it is', async () => {
  expect(await pageUrlOf(context(false), '/van')).toBe('https://device.example/van')
})

it('of a runtime behind a socket is that of its port, if the same device answers there', async () => {
  expect(await pageUrlOf(context(true), '/van')).toBe(`http://localhost:${port}/van`)
  nodeId = 'other'
  expect(await pageUrlOf(context(true), '/van')).toBeUndefined()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  expect(await pageUrlOf(context(true), '/van')).toBeUndefined()
})

it.each(['van', '', '@eve.example/'])('has a path that begins with a slash, and not %j', async (path) => {
  expect(await pageUrlOf(context(false), path)).toBeUndefined()
})

it.each([
  ['http://127.0.0.1:8084', 'http://localhost:8084/'],
  ['https://id.example/x', 'https://id.example/x'],
])('of the console at %s has a name', async (url, expected) => {
  const asked: string[] = []
  const findService = async (name: string) => {
    asked.push(name)
    return { url }
  }
  expect(await consoleUrlOf({ findService } as never)).toBe(expected)
  expect(asked).toEqual(['identity'])
})
