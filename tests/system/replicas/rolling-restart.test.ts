/** Replicas of the identity service that restart one after the other under load, behind a load balancer that follows `/readyz`. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRuntimeClient } from '@selvedge/client'
import { freePort, type PostgresServer, startPostgres } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Balancer, startBalancer } from '../../harness/balancer.ts'
import { createDeveloper, type Developer } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { type Program, startProgram, temporaryFolder } from '../../harness/processes.ts'

const clients = 8
/** On a busy machine a poll for changes may be late: then a replica answers 503, which is another test. */
const args = ['--drain.seconds=1', '--limits.client=1000000', '--replicas.maxAge=60']
const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

interface Replica {
  program: Program
  start(): Promise<Program>
  readonly port: number
  readonly state: string
}

async function createReplica(env: Record<string, string>, issuer: string): Promise<Replica> {
  const folder = await temporaryFolder()
  const port = await freePort()
  const start = () =>
    startProgram('identity', { ...env, SELVEDGE_STATE: folder.path, SELVEDGE_IDENTITY_PORT: String(port) }, [
      `--issuer=${issuer}`,
      ...args,
    ])
  const replica = { program: await start(), start, port, state: folder.path }
  ends.push(folder.remove, () => replica.program.stop())
  return replica
}

/** Sends requests over one persistent connection, one after the other. @returns what ends it, with the number of answers by what they were */
function ask(url: string, path: string, body: () => string): () => Promise<Record<string, number>> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const outcomes: Record<string, number> = {}
  let isOver = false
  const once = () =>
    new Promise<string>((resolve) => {
      const sent = body()
      const headers = {
        'Content-Type': 'application/x-www-form-urlencoded',
        'Content-Length': Buffer.byteLength(sent),
      }
      const method = sent === '' ? 'GET' : 'POST'
      const request = httpRequest(url + path, { method, headers, agent }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk
        })
        const { statusCode } = response
        response.on('end', () => resolve(statusCode === 200 ? 'ok' : `${statusCode} ${text.slice(0, 200)}`))
        response.on('error', (cause) => resolve(cause.message))
      })
      request.on('error', (cause) => resolve(cause.message))
      request.end(sent)
    })
  const running = (async () => {
    while (!isOver) {
      const outcome = await once()
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
      // An overload is another test: there, 503 is the right answer.
      await sleep(5)
    }
  })()
  return async () => {
    isOver = true
    await running
    agent.destroy()
    return outcomes
  }
}

describe('replicas that restart one after the other', needs('postgres'), () => {
  let postgres: PostgresServer
  let balancer: Balancer
  let replicas: Replica[]
  let developer: Developer
  let edgeIdToken: string

  beforeEach(async () => {
    replicas = []
    postgres = await startPostgres()
    ends.push(() => postgres.stop())
    balancer = await startBalancer(() => replicas.map(({ port }) => port))
    ends.push(() => balancer.stop())
    const env = {
      SELVEDGE_IDENTITY_STORE: await postgres.createDatabase(),
      SELVEDGE_IDENTITY_KEYS: randomBytes(32).toString('base64url'),
    }
    for (let at = 0; at < 2; at++) replicas.push(await createReplica(env, balancer.url))
    await expect.poll(() => balancer.ready().length).toBe(2)
    developer = await createDeveloper(replicas[0]!.state)
    const device = await temporaryFolder()
    const runtime = await startProgram('runtime', {
      SELVEDGE_STATE: device.path,
      SELVEDGE_RUNTIME_PORT: '0',
      SELVEDGE_IDENTITY_URL: balancer.url,
    })
    edgeIdToken = (await createRuntimeClient({ url: runtime.url }).getEdgeIdToken()).id_token
    await runtime.stop()
    await device.remove()
  })

  it('fail no request, not even one that is under way', async () => {
    const form = new URLSearchParams({
      grant_type: 'id_token_signin',
      client_id: developer.clientId,
      id_token: developer.idToken,
      edge_id_token: edgeIdToken,
      scope: 'openid',
    }).toString()
    const load = Array.from({ length: clients }, (_, at) =>
      at % 2 === 0 ? ask(balancer.url, '/token', () => form) : ask(balancer.url, '/jwks', () => ''),
    )
    for (const replica of [...replicas, replicas[0]!]) {
      const former = replica.program.process.pid
      await replica.program.stop()
      expect(replica.program.process.signalCode).toBe(null)
      expect(replica.program.process.exitCode).toBe(0)
      expect(balancer.ready()).not.toContain(replica.port)
      replica.program = await replica.start()
      expect(replica.program.process.pid).not.toBe(former)
      await expect.poll(() => balancer.ready().length).toBe(2)
      await sleep(200)
    }
    const outcomes = await Promise.all(load.map((end) => end()))
    expect(balancer.failures()).toEqual([])
    for (const each of outcomes) {
      expect(Object.keys(each)).toEqual(['ok'])
      expect(each.ok).toBeGreaterThan(20)
    }
  })

  it('answer what is under way when the time to drain is over, and close each connection after its answer', async () => {
    const [replica] = replicas as [Replica]
    const body = `token=x&client_id=${developer.clientId}`
    const socket = connect(replica.port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    const head = (length: number) =>
      `POST /introspect HTTP/1.1\r\nHost: 127.0.0.1:${replica.port}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${length}\r\nExpect: 100-continue\r\n\r\n`
    socket.write(head(body.length) + body.slice(0, 3))
    await expect.poll(() => text).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    text = ''
    const stopped = replica.program.stop()
    const readyUrl = `http://127.0.0.1:${replica.port}/readyz`
    const askReady = async () => {
      const { status, headers } = await fetch(readyUrl)
      return [status, headers.get('connection')]
    }
    await expect.poll(askReady).toEqual([503, 'close'])
    expect((await fetch(`http://127.0.0.1:${replica.port}/healthz`)).status).toBe(200)
    // The listener is closed, and the request is still incomplete.
    await expect
      .poll(() =>
        fetch(readyUrl).then(
          () => 'open',
          () => 'closed',
        ),
      )
      .toBe('closed')
    socket.write(body.slice(3))
    await once(socket, 'close')
    await stopped
    expect(text).toMatch(/^HTTP\/1\.1 [24]\d\d /)
    expect(replica.program.process.exitCode).toBe(0)
  })
})

it('the runtime and discovery show that they are ready, and that they are not when they are about to stop', async () => {
  const folder = await temporaryFolder()
  const env = { SELVEDGE_STATE: folder.path, SELVEDGE_RUNTIME_PORT: '0', SELVEDGE_DISCOVERY_PORT: '0' }
  for (const name of ['runtime', 'discovery'] as const) {
    const program = await startProgram(name, env, ['--drain.seconds=1'])
    const statusOf = async (path: string) => (await fetch(program.url + path)).status
    expect([await statusOf('/healthz'), await statusOf('/readyz')]).toEqual([200, 200])
    const stopped = program.stop()
    await expect.poll(() => statusOf('/readyz')).toBe(503)
    expect(await statusOf('/healthz')).toBe(200)
    await stopped
    expect(program.process.exitCode).toBe(0)
  }
  await folder.remove()
})
