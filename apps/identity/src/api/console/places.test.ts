/** The locations of a whole account, from a discovery service that sends without end. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '@selvedge/service-kit/clock'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { directNetwork } from '../../../../../tests/harness/direct-network.ts'
import { createPlaces, type Places } from './places.ts'

let server: Server
let places: Places
beforeEach(async () => {
  server = createServer((_, response) => void response.write('[')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  places = createPlaces({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    network: directNetwork,
    clock: systemClock,
    log: {} as never,
    keys: { sign: () => 'token' } as never,
    issuer: () => 'https://identity.example',
  })
})
afterEach(() => {
  places.stop()
  server.close().closeAllConnections()
})

it('eight of one account are read at the same time; a further one has room when one of them ends', async () => {
  const read = await Promise.all(Array.from({ length: 8 }, () => places.all('a')))
  expect(read).not.toContain(undefined)
  expect(await places.all('a')).toBeUndefined()
  const ofOther = await places.all('b')
  expect(ofOther).toBeDefined()
  const ended = once(read[0]!, 'close')
  read[0]!.destroy()
  await ended
  const next = await places.all('a')
  expect(next).toBeDefined()
  for (const each of [...read, ofOther, next]) each?.destroy()
})
