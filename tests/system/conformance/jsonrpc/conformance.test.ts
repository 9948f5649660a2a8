import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createDispatcher } from '@selvedge/protocol/jsonrpc'
import { type CallContext, createRpcListener } from '@selvedge/service-kit/http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { functionImage } from '../../../harness/archives.ts'
import { needs } from '../../../harness/installed.ts'
import { makeNeighbourhood, type Neighbourhood } from '../../../harness/neighbourhood.ts'
import { freePorts, type Program, startProgram, temporaryFolder } from '../../../harness/processes.ts'
import { type Services, startServices } from '../../../harness/services.ts'
import { matches } from './match.ts'
import { bodyOf, sendVector, type Vector, withValues } from './send.ts'
import { type SocketVector, sendSocketVector } from './send-websocket.ts'
import { exampleHandlers, exampleMethods } from './specification-methods.ts'

const vectorsOf = <T = Vector>(name: string): readonly T[] =>
  JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8'))

async function check(url: string, vector: Vector, socketPath?: string): Promise<void> {
  const { status, text, headers } = await sendVector(url, vector, socketPath)
  expect({ status, text: text.slice(0, 400) }).toMatchObject({ status: vector.status })
  if (vector.header !== undefined) expect(headers.toLowerCase()).toContain(vector.header.toLowerCase())
  if (vector.answer === undefined) return
  const answer: unknown = JSON.parse(text)
  expect(matches(vector.answer, answer), `got ${text.slice(0, 400)}`).toBe(true)
}

describe("the specification's own examples", () => {
  const dispatcher = createDispatcher<typeof exampleMethods, { anyone: undefined }, CallContext>({
    methods: exampleMethods,
    checks: { anyone: () => undefined },
    handlers: exampleHandlers,
    mirror: false,
    limits: { depth: 32, batch: 100 },
    onInternalError: (_, cause) => String(cause),
  })
  const server = createServer()
  let url: string
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    server.on(
      'request',
      createRpcListener({ dispatcher, guard: { port, allowedOrigins: [] }, maxBody: 1024 * 1024 }).request,
    )
    url = `http://127.0.0.1:${port}`
  })
  afterAll(() => server.close())

  it.each(vectorsOf('specification'))('$name', (vector) => check(url, vector))
})

describe('the runtime, alone', () => {
  let runtime: Program
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  beforeAll(async () => {
    folder = await temporaryFolder()
    // Nothing listens on port 9 of the loopback: the runtime is alone, and must answer all the same.
    const nowhere = {
      SELVEDGE_IDENTITY_URL: 'http://127.0.0.1:9',
      SELVEDGE_DISCOVERY_URL: 'http://127.0.0.1:9',
    }
    runtime = await startProgram('runtime', { SELVEDGE_STATE: folder.path, ...freePorts, ...nowhere })
  })
  afterAll(async () => {
    await runtime.stop()
    await folder.remove()
  })

  describe.each(['calls', 'http'])('%s', (name) => {
    it.each(vectorsOf(name))('$name', (vector) => check(runtime.url, vector))
  })

  async function checkSocket(vector: SocketVector): Promise<void> {
    const { status, answers, close } = await sendSocketVector(runtime.url, vector)
    expect({ status, close }).toEqual({ status: vector.status ?? 101, close: vector.close ?? 0 })
    const expected = vector.answers ?? []
    expect(matches(expected, answers), `got ${JSON.stringify(answers).slice(0, 400)}`).toBe(true)
  }

  describe('WebSocket', () => {
    it.each(vectorsOf<SocketVector>('websocket'))('$name', checkSocket)
  })

  describe('calls over WebSocket', () => {
    it.each(vectorsOf('calls'))('$name', (vector) => checkSocket(overWebSocket(vector)))
  })
})

const lastCall = '{"jsonrpc":"2.0","method":"getMe","id":"last"}'

/** The same body as a message, followed by a call: it gets the same answer, or no answer. */
function overWebSocket(vector: Vector): SocketVector {
  const { name, status, answer } = vector
  const body = bodyOf(vector)
  const text = body.toString('base64')
  if (status === 413) return { name, text, close: 1009 }
  if (!isUtf8(body)) return { name, text, close: 1007 }
  const answers = status === 204 ? [] : [answer ?? '$any']
  return {
    name,
    messages: [body.toString(), lastCall],
    answers: [...answers, { id: 'last', error: '$absent' }],
  }
}

describe('the runtime of an account, REST', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
    await services.deployImage(
      functionImage('export default { fetch: () => new Response("hello") }', 'hello'),
    )
  })
  afterAll(() => services?.stop())

  it.each(vectorsOf('rest'))('$name', (vector) => {
    const { token, developer } = services
    return check(services.url(), withValues(vector, { token, client: developer.clientId }))
  })
})

describe('the runtime on a local network', needs('ip', 'networks'), () => {
  let all: Neighbourhood
  beforeAll(async () => {
    all = await makeNeighbourhood({ one: { left: '10.79.1.1' } })
    await all.join('one', await all.createAccount())
  })
  afterAll(() => all?.remove())

  it.each(vectorsOf('local-network'))('$name', (vector) => {
    const { token, state } = all.devices.one!
    return check('http://localhost', withValues(vector, { token }), join(state, 'runtime.sock'))
  })
})
