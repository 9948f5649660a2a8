import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createDispatcher } from '@selvedge/protocol/jsonrpc'
import { type CallContext, createRpcListener } from '@selvedge/service-kit/http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePorts, type Program, startProgram, temporaryFolder } from '../../harness/processes.ts'
import { matches } from './match.ts'
import { sendVector, type Vector } from './send.ts'
import { exampleHandlers, exampleMethods } from './specification-methods.ts'

const vectorsOf = (name: string): readonly Vector[] =>
  JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8'))

async function check(url: string, vector: Vector): Promise<void> {
  const { status, text, headers } = await sendVector(url, vector)
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

describe.each(['calls', 'http'])('the runtime, %s', (name) => {
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

  it.each(vectorsOf(name))('$name', (vector) => check(runtime.url, vector))
})
