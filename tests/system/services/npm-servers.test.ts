/** Clients of the registry run in functions as they are, against servers of Debian and of npm: MariaDB, NATS and gRPC. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { connect } from 'node:net'
import { join } from 'node:path'
import { freePort } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { packFolder } from '../../../apps/cli/src/archive/pack.ts'
import { needs } from '../../harness/installed.ts'
import { root } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

const folder = join(root, 'tests/system/services/npm-packages')
const require = createRequire(join(folder, 'package.json'))

describe('a client in a function', needs('npm packages', 'mariadbd', 'nats-server'), () => {
  let services: Services
  const processes: ChildProcess[] = []
  let closeGrpc: () => void = () => undefined

  async function start(program: string, port: number, args: readonly string[]): Promise<number> {
    processes.push(spawn(program, args, { stdio: 'ignore' }))
    await vi.waitFor(
      async () => {
        const socket = connect(port, '127.0.0.1')
        await once(socket, 'connect')
        socket.destroy()
      },
      { timeout: 120_000 },
    )
    return port
  }

  async function startMaria(): Promise<number> {
    const data = join(services.stack.state, 'mariadb')
    mkdirSync(data)
    const user = `--user=${process.getuid?.() === 0 ? 'root' : process.env.USER}`
    const shared = ['--no-defaults', `--datadir=${data}`, user, '--innodb-log-file-size=4M']
    execFileSync(
      'mariadb-install-db',
      [...shared, '--auth-root-authentication-method=normal', '--skip-test-db'],
      {
        stdio: 'ignore',
      },
    )
    const init = join(services.stack.state, 'init.sql')
    writeFileSync(
      init,
      "CREATE DATABASE app;\nCREATE USER app IDENTIFIED BY 'of the app';\nGRANT ALL ON app.* TO app;\n",
    )
    const port = await freePort()
    const own = [`--port=${port}`, '--bind-address=127.0.0.1', `--socket=${data}/s`, `--init-file=${init}`]
    return start('mariadbd', port, [...shared, ...own, '--skip-name-resolve'])
  }

  async function startNats(): Promise<number> {
    const port = await freePort()
    return start('nats-server', port, [
      '-a',
      '127.0.0.1',
      '-p',
      String(port),
      '--user',
      'app',
      '--pass',
      'of the app',
    ])
  }

  /** A server of the same package, on Node.js. */
  async function startGrpc(): Promise<number> {
    const grpc = require('@grpc/grpc-js')
    const method = (path: string, responseStream: boolean) => ({
      path,
      requestStream: false,
      responseStream,
      requestSerialize: (value: unknown) => Buffer.from(JSON.stringify(value)),
      requestDeserialize: (bytes: Buffer) => JSON.parse(bytes.toString()),
      responseSerialize: (value: unknown) => Buffer.from(JSON.stringify(value)),
      responseDeserialize: (bytes: Buffer) => JSON.parse(bytes.toString()),
    })
    const server = new grpc.Server()
    type Done = (cause: object | null, answer?: unknown) => void
    server.addService(
      {
        double: method('/meter.Meter/Double', false),
        count: method('/meter.Meter/Count', true),
        fail: method('/meter.Meter/Fail', false),
      },
      {
        double: ({ request }: { request: { value: number } }, done: Done) => done(null, request.value * 2),
        count(call: { request: number; write(value: number): void; end(): void }) {
          for (let value = 0; value < call.request; value += 1) call.write(value)
          call.end()
        },
        fail(_: unknown, done: Done) {
          const metadata = new grpc.Metadata()
          metadata.set('reason', 'no meter')
          done({ code: grpc.status.NOT_FOUND, details: 'not found', metadata })
        },
      },
    )
    closeGrpc = () => server.forceShutdown()
    return new Promise((resolve, reject) =>
      server.bindAsync(
        '127.0.0.1:0',
        grpc.ServerCredentials.createInsecure(),
        (cause: Error | null, port: number) => (cause ? reject(cause) : resolve(port)),
      ),
    )
  }

  let env: Record<string, string>
  beforeAll(async () => {
    services = await startServices()
    const [maria, nats, grpc] = await Promise.all([startMaria(), startNats(), startGrpc()])
    env = {
      'MCM.OUTBOUND': [maria, nats, grpc].map((port) => `127.0.0.1:${port}`).join(','),
      'MCM.ACCESS': 'public',
      HOST: '127.0.0.1',
      MYSQL: String(maria),
      NATS: String(nats),
      GRPC: String(grpc),
    }
  })
  afterAll(async () => {
    closeGrpc()
    for (const each of processes) each.kill('SIGKILL')
    await services.stop()
  })

  it.each([
    ['mysql2', { row: { id: 7, length: 100_000 }, sum: 380 }],
    ['nats', 'meter.1 100000'],
    ['grpc', { doubled: 42, count: 1000, failure: { code: 5, details: 'not found', reason: 'no meter' } }],
  ])('runs as it is: %s', async (name, expected) => {
    const { archive } = await packFolder(join(folder, 'functions', name), { name })
    const { id: image } = await services.deployImage(archive)
    const spec = { name, image, env }
    const { basePath, id } = await services
      .runtime()
      .deployContainer({ edgeAccessToken: services.token, spec })
    const { text } = await services.call(basePath)
    const { lines } = await services
      .runtime()
      .getContainerLogs({ edgeAccessToken: services.token, id, tail: 20 })
    const log = lines.map((each) => each.text).join('\n')
    expect(text, log).toMatch(/^["[{]/)
    expect(JSON.parse(text), log).toEqual(expected)
  })
})
