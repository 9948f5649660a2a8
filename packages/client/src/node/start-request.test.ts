/** Each kind of request tries the addresses of a name side by side (RFC 8305): also to this machine, and without a network. */
import type { LookupFunction } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, it } from 'vitest'
import { listenDeaf } from '../../../../tests/harness/deaf-listener.ts'
import { directNetwork } from '../../../../tests/harness/direct-network.ts'
import { startRequest, wayTo } from './start-request.ts'

const closing: (() => unknown)[] = []
afterEach(() => {
  for (const close of closing.splice(0).toReversed()) close()
})

async function deaf(host: string, port?: number) {
  const listener = await listenDeaf(host, port)
  closing.push(listener.close)
  return listener
}

const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }))
const lookup: LookupFunction = (_, options, callback) =>
  options.all ? callback(null, addresses) : callback(null, addresses[0]!.address, 4)

it.each([
  ['to this machine', 'loopback.localhost', directNetwork],
  ['to another machine', 'other.example', directNetwork],
  ['without a network', 'other.example', undefined],
] as const)('a request %s does not give up a slow address', async (_, host, network) => {
  const slow = await deaf('127.0.0.1')
  await deaf('127.0.0.2', slow.port)
  const url = `http://${host}:${slow.port}`
  const answered = new Promise<string>((resolve, reject) => {
    const options = { ...wayTo({ network }, url), lookup }
    startRequest(url, options, (response) => text(response).then(resolve, reject))
      .on('error', reject)
      .end()
  })
  // After both attempts began, and Node would have given up the first one.
  await new Promise((resolve) => setTimeout(resolve, 600))
  slow.wake()
  expect(await answered).toBe('hello')
})

it('a Unix socket needs no network', () => {
  const way = wayTo({ socketPath: '/a', network: directNetwork }, 'http://a.example')
  expect(way).toEqual({ socketPath: '/a', agent: false })
})
