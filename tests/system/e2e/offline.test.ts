import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { request as httpsRequest } from 'node:https'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createDiscoveryClient, type RpcFailure } from '@selvedge/client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { slotContent } from '../../../packages/service-kit/src/store/slot.ts'
import { makeCertificate } from '../../harness/certificate.ts'
import { cliEnvOf, runCli } from '../../harness/cli.ts'
import { accessToken, adminOf, createDeveloper, runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { stepLimitMs } from '../../harness/limits.ts'
import {
  freePorts,
  type Program,
  root,
  type Stack,
  startProgram,
  startStack,
} from '../../harness/processes.ts'

let stack: Stack
let runtime: Program
const client = () => runtimeOf({ runtime })
const somewhere = { longitude: '1', latitude: '2', speed: '3', bearing: '4' }

/** The same services again, on the ports they had. */
async function restart(
  name: 'identity' | 'discovery' | 'runtime',
  args: readonly string[] = [],
): Promise<Program> {
  const port = (url: string) => new URL(url).port
  return startProgram(
    name,
    {
      SELVEDGE_STATE: stack.state,
      SELVEDGE_IDENTITY_PORT: port(stack.identity.url),
      SELVEDGE_DISCOVERY_PORT: port(stack.discovery.url),
      SELVEDGE_RUNTIME_PORT: '0',
      SELVEDGE_IDENTITY_URL: stack.identity.url,
      SELVEDGE_DISCOVERY_URL: stack.discovery.url,
    },
    args,
  )
}

/** A server in the place of another one that closes each connection. */
async function startRefusing(url: string) {
  let attempts = 0
  const server = createServer((socket) => {
    attempts++
    socket.destroy()
  }).listen(Number(new URL(url).port), '127.0.0.1')
  await once(server, 'listening')
  return {
    attempts: () => attempts,
    async stop() {
      server.close()
      await once(server, 'close')
    },
  }
}

const eventually = async (check: () => Promise<boolean>): Promise<void> => {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (await check()) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('it did not come to pass within ten seconds')
}

/** Each test of a suite gets a stack of its own, as it stops services or removes their data. */
function useOwnStacks(): void {
  beforeEach(async () => {
    stack = await startStack()
    runtime = stack.runtime
  })
  afterEach(async () => {
    await runtime.stop()
    await stack.stop()
  })
}

/** Each test of a suite gets a new node; the services stay. */
function useNewNodes(): void {
  let shared: Stack
  beforeAll(async () => {
    shared = await startStack()
    await shared.runtime.stop()
  })
  beforeEach(async () => {
    stack = shared
    rmSync(join(shared.state, 'runtime'), { recursive: true })
    rmSync(join(shared.state, 'api-key'), { force: true })
    runtime = await restart('runtime')
    stack = { ...shared, runtime }
  })
  afterEach(() => runtime.stop())
  afterAll(() => shared.stop())
}

describe('without the network', () => {
  useOwnStacks()

  it('fixes are kept, the newest wins, and it is sent when the discovery service is back, restarts in between', async () => {
    const token = await accessToken(stack, await createDeveloper(stack.state))
    await client().associateAccount({ edgeAccessToken: token })
    await stack.discovery.stop('SIGKILL')
    expect(await client().updateGps({ ...somewhere, edgeAccessToken: token })).toEqual({ status: 'queued' })
    expect(await client().updateGps({ ...somewhere, speed: '99', edgeAccessToken: token })).toEqual({
      status: 'queued',
    })
    expect(await client().getGps({ edgeAccessToken: token })).toMatchObject({ speed: '99', published: false })
    const { network, nodeId } = await client().getMe()
    expect(network.discovery).toMatchObject({
      reachable: false,
      since: expect.any(String),
      lastError: expect.any(String),
    })

    await runtime.stop('SIGKILL')
    runtime = await restart('runtime')
    expect(await client().getGps({ edgeAccessToken: token })).toMatchObject({ speed: '99', published: false })

    const often = ['--presence.interval=1']
    const discovery = await restart('discovery', often)
    await eventually(async () => (await client().getGps({ edgeAccessToken: token })).published)
    const there = await createDiscoveryClient({ url: discovery.url }).lastFix(nodeId, token)
    expect(there).toMatchObject({ speed: 99 })
    // What the service had not written yet when the power was cut, the node tells it again.
    await discovery.stop('SIGKILL')
    const again = await restart('discovery', often)
    const service = createDiscoveryClient({ url: again.url })
    await eventually(() =>
      service.lastFix(nodeId, token).then(
        () => true,
        () => false,
      ),
    )
    const { ageSeconds: _, receivedAt: __, ...fix } = there
    expect(await service.lastFix(nodeId, token)).toMatchObject(fix)
    await again.stop()
  })

  it('with a track, fixes recorded while the discovery service was away are sent once when it is back', async () => {
    const token = await accessToken(stack, await createDeveloper(stack.state))
    await client().associateAccount({ edgeAccessToken: token })
    const update = (latitude: string) =>
      client().updateGps({ ...somewhere, latitude, edgeAccessToken: token })
    const until = new Date(Date.now() + 86_400_000).toISOString()
    expect(await client().setLocationTrack({ edgeAccessToken: token, until })).toMatchObject({ status: 'ok' })
    expect(await update('1')).toEqual({ status: 'ok' })
    await stack.discovery.stop()
    for (const latitude of ['2', '3', '4']) expect(await update(latitude)).toEqual({ status: 'queued' })
    const discovery = await restart('discovery')
    expect(await update('5')).toEqual({ status: 'ok' })
    const { data } = await client().getLocationTrack({ edgeAccessToken: token })
    expect(data.map(([, latitude]) => latitude)).toEqual([1, 2, 3, 4, 5])
    await discovery.stop()
  })

  it('a fix is published at once when the discovery service is back, however long it was away', async () => {
    const token = await accessToken(stack, await createDeveloper(stack.state))
    await client().associateAccount({ edgeAccessToken: token })
    await stack.discovery.stop('SIGKILL')
    expect(await client().updateGps({ ...somewhere, edgeAccessToken: token })).toEqual({ status: 'queued' })
    // After three failed attempts, the next one is two seconds away or more.
    const refusing = await startRefusing(stack.discovery.url)
    await expect.poll(refusing.attempts).toBeGreaterThanOrEqual(2)
    await refusing.stop()
    const discovery = await restart('discovery')
    expect(await client().updateGps({ ...somewhere, edgeAccessToken: token })).toEqual({ status: 'ok' })
    await discovery.stop()
  })

  it('a discovery service that accepts connections and never answers delays callers no longer than a refusal', async () => {
    const token = await accessToken(stack, await createDeveloper(stack.state))
    await client().associateAccount({ edgeAccessToken: token })
    await stack.discovery.stop('SIGKILL')
    const silent = createServer().listen(Number(new URL(stack.discovery.url).port), '127.0.0.1')
    await once(silent, 'listening')
    expect(await client().updateGps({ ...somewhere, edgeAccessToken: token })).toEqual({ status: 'queued' })
    expect(await client().getGps({ edgeAccessToken: token })).toMatchObject({ published: false })
    silent.close()
    await runtime.stop('SIGKILL')
  })

  it('every local method answers, tokens are verified, and an account is associated and reported later', async () => {
    const developer = await createDeveloper(stack.state)
    const token = await accessToken(stack, developer)
    await stack.identity.stop('SIGKILL')
    await stack.discovery.stop('SIGKILL')
    await runtime.stop('SIGKILL')
    runtime = await restart('runtime')

    expect(await client().associateAccount({ edgeAccessToken: token })).toEqual({
      accountId: developer.accountId,
    })
    expect(await client().updateGps({ ...somewhere, edgeAccessToken: token })).toEqual({ status: 'queued' })
    const { nodeId, network, time } = await client().getMe()
    expect(time.state).toBe('held')
    expect(network.identity).toMatchObject({ reachable: false, since: expect.any(String) })
    const uri = '/somewhere'
    const expiry = String(Math.floor(Date.now() / 1000) + 60)
    const { edgeHmacCode } = await client().getEdgeHmacCode({ edgeAccessToken: token, expiry, nodeId, uri })
    expect(await client().verifyEdgeHmacCode({ edgeHmacCode, nodeId, uri })).toMatchObject({ valid: true })
    const failure = (await client()
      .getEdgeIdToken()
      .catch((cause: unknown) => cause)) as RpcFailure
    expect(failure).toMatchObject({ reason: 'identity_unavailable', retryable: true })

    const identity = await restart('identity')
    await eventually(async () => {
      const [, payload] = (
        await client()
          .getEdgeIdToken()
          .catch(() => ({ id_token: '.e30.' }))
      ).id_token.split('.')
      return JSON.parse(atob(payload!)).sub === developer.accountId
    })
    expect((await client().getMe()).time.state).toBe('trusted')
    await identity.stop()
  })
})

describe('an identity service that lost its data', () => {
  useOwnStacks()

  it('enrols the node again, and a notice says that the account is not known there', async () => {
    const developer = await createDeveloper(stack.state)
    await client().associateAccount({ edgeAccessToken: await accessToken(stack, developer) })
    await eventually(
      async () => (await adminOf(stack.state)['node.list']())[0]?.accountId === developer.accountId,
    )
    await runtime.stop()
    await stack.identity.stop()
    rmSync(join(stack.state, 'identity'), { recursive: true })
    const identity = await restart('identity')
    runtime = await restart('runtime')
    const { nodeId, accountId, notices } = await (async () => {
      await eventually(async () => (await client().getMe()).notices.length > 0)
      return client().getMe()
    })()
    expect(accountId).toBe(developer.accountId)
    expect(notices).toMatchObject([{ reason: 'account_differs' }])
    expect(await adminOf(stack.state)['node.list']()).toMatchObject([{ nodeId, accountId: '' }])
    await identity.stop()
  })
})

describe('the state of a node', () => {
  useNewNodes()

  it('is the same after a restart: node, account, and the tokens of a removed account stay refused', async () => {
    const developer = await createDeveloper(stack.state)
    const token = await accessToken(stack, developer)
    await client().associateAccount({ edgeAccessToken: token })
    const before = await client().getMe()
    await runtime.stop('SIGKILL')
    runtime = await restart('runtime')
    expect(await client().getMe()).toMatchObject({ nodeId: before.nodeId, accountId: developer.accountId })
    await client().unassociateAccount({ edgeAccessToken: token })
    await runtime.stop('SIGKILL')
    runtime = await restart('runtime')
    const failure = (await client()
      .associateAccount({ edgeAccessToken: token })
      .catch((cause: unknown) => cause)) as RpcFailure
    expect(failure.reason).toBe('token_revoked')
  })

  it('is readable by no other user', async () => {
    const { statSync } = await import('node:fs')
    const mode = (path: string) => (statSync(join(stack.state, path)).mode & 0o777).toString(8)
    expect({
      folder: mode('runtime'),
      key: mode('runtime/node-key.json'),
      state: mode('runtime/state.a'),
      identity: mode('identity'),
      socket: mode('runtime.sock'),
      admin: mode('admin.sock'),
    }).toEqual({ folder: '700', key: '600', state: '600', identity: '700', socket: '660', admin: '600' })
  })

  const startError = () =>
    restart('runtime').then(
      async (program) => {
        await program.stop()
        return 'it started'
      },
      (cause: Error) => cause.message,
    )

  it('with a damaged key is set aside and never replaced by another node, not even at the start after', async () => {
    const { nodeId } = await client().getMe()
    await runtime.stop()
    const path = join(stack.state, 'runtime/node-key.json')
    const content = readFileSync(path)
    truncateSync(path, 20)
    expect(await startError()).toMatch(
      /key of the node is damaged and is set aside as .*node-key\.json\.damaged-.*Restore/s,
    )
    expect(await startError()).toMatch(/Restore .*node-key\.json from a backup/s)
    writeFileSync(path, content, { mode: 0o600 })
    runtime = await restart('runtime')
    expect((await client().getMe()).nodeId).toBe(nodeId)
  })

  it('with the key of another node does not start', async () => {
    await runtime.stop()
    const other = await startStack()
    const key = readFileSync(join(other.state, 'runtime/node-key.json'))
    await other.stop()
    writeFileSync(join(stack.state, 'runtime/node-key.json'), key)
    expect(await startError()).toMatch(/is of node [0-9a-f]{56}, the state beside it of node [0-9a-f]{56}/)
  })

  it('with one damaged file continues from the other, with a notice', async () => {
    const { nodeId } = await client().getMe()
    await runtime.stop()
    appendFileSync(join(stack.state, 'runtime/state.a'), 'x')
    truncateSync(join(stack.state, 'runtime/state.b'), 30)
    runtime = await restart('runtime')
    const me = await client().getMe()
    expect(me).toMatchObject({ nodeId, notices: [{ reason: 'state_rolled_back' }] })
    const line = runtime
      .errors()
      .split('\n')
      .find((each) => each.includes(me.notices[0]!.errorId))
    expect(line).toMatch(/runtime\/state.* is damaged; it is set aside as .*state\.b\.damaged-/)
  })

  it.each(['state', 'deployments', 'held-paths', 'apps', 'schedules', 'revocations', 'nodes'])(
    'whose %s was written by a later version stops the runtime with exit code 78 and is left as it is',
    async (name) => {
      await runtime.stop()
      const folder = join(stack.state, 'runtime')
      writeFileSync(join(folder, `${name}.a`), slotContent(900, 99, Buffer.from('{}'), true))
      const contents = () =>
        readdirSync(folder)
          .filter((each) => /\.[ab]$|damaged/.test(each))
          .map((each) => [each, readFileSync(join(folder, each), 'utf8')])
      const before = contents()
      const { status, stderr } = spawnSync(process.execPath, [join(root, 'apps/runtime/dist/main.cjs')], {
        env: { SELVEDGE_STATE: stack.state, ...freePorts, SELVEDGE_LINK_LOCAL: 'false' },
        encoding: 'utf8',
        timeout: stepLimitMs,
        killSignal: 'SIGKILL',
      })
      expect(stderr).toMatch(
        new RegExp(`runtime/${name}\\.a was written by a later version .* Start the later version again`),
      )
      expect(status).toBe(78)
      expect(contents()).toEqual(before)
    },
  )

  it.each([
    ['leases', 'leases_damaged'],
    ['schedules', 'schedules_damaged'],
    ['apps', 'apps_damaged'],
    ['state', 'state_damaged'],
  ])(
    'with both files of %s damaged is set aside, with a notice, and the node is still the same',
    async (name, reason) => {
      const { nodeId } = await client().getMe()
      await runtime.stop()
      for (const slot of ['a', 'b'])
        writeFileSync(join(stack.state, `runtime/${name}.${slot}`), 'selvedge 7 rubbish')
      runtime = await restart('runtime')
      const me = await client().getMe()
      expect(me).toMatchObject({ nodeId, notices: [{ reason }] })
      const aside = readdirSync(join(stack.state, 'runtime')).filter((each) => each.includes('damaged'))
      expect(aside.filter((each) => each.startsWith(name))).toHaveLength(2)
    },
  )

  it('is used by one runtime at a time', async () => {
    expect(await startError()).toMatch(
      /another runtime uses the state folder .*; stop it or choose another state folder/,
    )
    expect((await client().getMe()).nodeId).toMatch(/^[0-9a-f]{56}$/)
  })
})

describe('TLS', () => {
  useNewNodes()

  it('with a key is served like the plain listener', needs('openssl'), async () => {
    await runtime.stop()
    const files = makeCertificate(stack.state, 'tls', 1)
    runtime = await restart('runtime', [
      `--listen.tlsKey=${files.key}`,
      `--listen.tlsCert=${files.cert}`,
      '--apiKey=true',
    ])
    expect(runtime.url).toMatch(/^https:/)
    const answer = await new Promise<{ status?: number | undefined; text: string }>((resolve, reject) => {
      const headers = { 'Content-Type': 'application/json' }
      const request = httpsRequest(
        `${runtime.url}/jsonrpc/v1`,
        { method: 'POST', headers, ca: readFileSync(files.cert) },
        (response) => {
          let text = ''
          response.on('data', (chunk) => {
            text += chunk
          })
          response.on('end', () => resolve({ status: response.statusCode, text }))
        },
      )
      request.on('error', reject)
      request.end('{"jsonrpc":"2.0","method":"getMe","id":1}')
    })
    expect(answer).toMatchObject({ status: 200, text: expect.stringContaining('"nodeId"') })
    // Only programs on the device may see which services it uses.
    expect(answer.text).not.toContain(stack.identity.url)
    expect(answer.text).not.toContain(stack.discovery.url)
    const me = await runCli(['call', 'getMe'], cliEnvOf(stack))
    expect(JSON.parse(me.out).network).toMatchObject({
      identity: { url: stack.identity.url },
      discovery: { url: stack.discovery.url },
    })
    // It is good for a day.
    expect(JSON.parse(me.out).notices).toMatchObject([{ reason: 'certificate_expires' }])
  })
})

describe('the API key', () => {
  useNewNodes()

  it('is asked for by every method but getMe', async () => {
    await runtime.stop()
    runtime = await restart('runtime', ['--apiKey=true'])
    const key = readFileSync(join(stack.state, 'api-key'), 'utf8').trim()
    const { createRuntimeClient } = await import('@selvedge/client')
    const withKey = (apiKey: string) => createRuntimeClient({ url: runtime.url, apiKey })
    const reason = (call: Promise<unknown>) =>
      call.then(
        () => 'ok',
        (cause: RpcFailure) => cause.reason,
      )
    expect(await reason(client().getMe())).toBe('ok')
    expect(await reason(client().getEdgeIdToken())).toBe('api_key_invalid')
    expect(await reason(client()['rpc.discover']())).toBe('api_key_invalid')
    expect(await reason(withKey('wrong').getEdgeIdToken())).toBe('api_key_invalid')
    const nodes = await fetch(`${runtime.url}/mds/v1/nodes`)
    expect(nodes.status).toBe(401)
    expect(await nodes.text()).toContain('token_missing')
    expect(await reason(withKey(key).getEdgeIdToken())).toBe('ok')
    const { id_token: edgeIdToken } = await withKey(key).getEdgeIdToken()
    await expect(withKey(edgeIdToken).getEdgeIdToken()).rejects.toThrow(
      'this is an edge ID token (typ edge-id+jwt); the Authorization header of getEdgeIdToken needs the API key of the runtime',
    )
  })

  it.each([
    ['0.0.0.0', []],
    ['0.0.0.0', ['--apiKey=true']],
    ['192.0.2.1', ['--listen.tlsCert=/x', '--listen.tlsKey=/x']],
  ])('without TLS and a key %s is not listened on %j', async (address, args) => {
    await runtime.stop()
    const start = restart('runtime', [`--listen.addresses=${address}`, ...args])
    await expect(start).rejects.toThrow(`address ${address} is not of the loopback`)
  })
})
