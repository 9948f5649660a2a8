/**
 * Packages of the registry run in functions as they are: clients of databases, brokers and Modbus against real servers, clients of HTTP, and
 * frameworks as handlers.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createRequire } from 'node:module'
import { type AddressInfo, connect, type Server } from 'node:net'
import { join } from 'node:path'
import { findRedis, freePort, type PostgresServer, startPostgres } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { packFolder } from '../../../apps/cli/src/archive/pack.ts'
import { makeCertificate } from '../../harness/certificate.ts'
import { needs } from '../../harness/installed.ts'
import { root } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

const folder = join(root, 'tests/system/services/npm-packages')
const require = createRequire(join(folder, 'package.json'))

describe(
  'a package in a function',
  needs('npm packages', 'openssl', 'postgres', 'redis-server', 'mosquitto'),
  () => {
    let services: Services
    let postgres: PostgresServer
    const processes: ChildProcess[] = []
    const closing: (() => void)[] = []
    let env: Record<string, string>

    async function listen(server: Server): Promise<number> {
      closing.push(() => server.close())
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      return (server.address() as AddressInfo).port
    }

    async function start(program: string, args: (port: number) => readonly string[]): Promise<number> {
      const port = await freePort()
      processes.push(spawn(program, args(port), { stdio: 'ignore' }))
      const isListening = async () => {
        const socket = connect(port, '127.0.0.1')
        await once(socket, 'connect')
        socket.destroy()
      }
      await vi.waitFor(isListening, { timeout: 120_000 })
      return port
    }

    /** Echoes bodies, redirects, has a large answer, and speaks WebSocket. */
    const answer: RequestListener = (request, response) => {
      if (request.url === '/redirect') response.writeHead(302, { Location: '/target' }).end()
      else if (request.url === '/large') response.end('x'.repeat(1_000_000))
      else if (request.url === '/echo') request.pipe(response.setHeader('Content-Type', 'application/json'))
      else response.end(`at ${request.url}`)
    }

    function startModbus(port: number): void {
      const { ServerTCP } = require('modbus-serial')
      const registers = new Map<number, number>()
      const vector = {
        getHoldingRegister: (address: number) => registers.get(address) ?? address * 10,
        setRegister: (address: number, value: number) => void registers.set(address, value),
      }
      const server = new ServerTCP(vector, { host: '127.0.0.1', port, unitID: 1 })
      closing.push(() => server.close(() => undefined))
    }

    beforeAll(async () => {
      services = await startServices()
      const { state } = services.stack
      postgres = await startPostgres()
      const redis = await start(findRedis()!.server, (port) => [
        ...['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', state],
      ])
      const mqtt = await start('mosquitto', (port) => {
        const file = join(state, 'mosquitto.conf')
        writeFileSync(file, `listener ${port} 127.0.0.1\nallow_anonymous true\n`)
        return ['-c', file]
      })
      const modbus = await freePort()
      startModbus(modbus)
      const web = createServer(answer)
      const { WebSocketServer } = require('ws')
      const sockets = new WebSocketServer({ server: web })
      sockets.on(
        'connection',
        (socket: { on(name: string, use: (data: Buffer) => void): void; send(text: string): void }) =>
          socket.on('message', (data) => socket.send(`echo ${data}`)),
      )
      const files = makeCertificate(state, 'web')
      const tls = { key: readFileSync(files.key), cert: readFileSync(files.cert) }
      const [http, https] = [await listen(web), await listen(createHttpsServer(tls, answer))]
      const database = await postgres.createDatabase()
      const ports = [new URL(database).port, redis, mqtt, modbus, http, https]
      env = {
        'MCM.OUTBOUND': ports.map((port) => `127.0.0.1:${port}`).join(','),
        'MCM.ACCESS': 'public',
        HOST: '127.0.0.1',
        POSTGRES: database,
        REDIS: String(redis),
        MQTT: String(mqtt),
        MODBUS: String(modbus),
        HTTP: String(http),
        HTTPS: String(https),
      }
    })
    afterAll(async () => {
      for (const close of closing) close()
      for (const each of processes) each.kill('SIGKILL')
      await postgres?.stop()
      await services.stop()
    })

    it.each([
      ['pg', { row: { id: 7, length: 100_000 }, sum: 380 }],
      [
        'ioredis',
        {
          length: 100_000,
          message: 'hello',
          replies: [
            [null, 1],
            [null, 2],
          ],
        },
      ],
      ['redis', { a: '1', b: '2' }],
      ['mqtt', { topic: 'meter/1', size: 100_000 }],
      ['modbus-serial', [40, 1234, 60]],
      ['jsmodbus', [10, 20]],
      [
        'node-http',
        {
          first: { status: 200, text: '{"a":1}', reused: false },
          second: { status: 200, text: 1_000_000, reused: true },
          secure: { status: 200, text: '"tls"', reused: false },
          untrusted: 'DEPTH_ZERO_SELF_SIGNED_CERT',
        },
      ],
      ['got', { posted: { a: 1 }, body: 'at /target', redirects: 1 }],
      ['axios', { posted: { a: 1 }, body: 'at /target' }],
      ['ky', { posted: { a: 1 }, body: 'at /target' }],
      ['superagent', { posted: { a: 1 }, body: 'at /target' }],
      ['undici', { posted: { a: 1 }, body: 'at /target' }],
      ['node-fetch', { posted: { a: 1 }, body: 'at /target' }],
      ['ws', 'echo hello'],
      ['hono', { framework: 'hono', path: 'x' }],
      ['itty-router', { framework: 'itty-router', path: 'x' }],
      ['h3', { framework: 'h3', path: 'x' }],
      ['elysia', { framework: 'elysia', path: 'x' }],
    ])('runs as it is: %s', async (name, expected) => {
      const { archive } = await packFolder(join(folder, 'functions', name), { name })
      const { id: image } = await services.deployImage(archive)
      const { basePath, id } = await services
        .runtime()
        .deployContainer({ edgeAccessToken: services.token, spec: { name, image, env } })
      const { text } = await services.call(`${basePath}?name=x`)
      const { lines } = await services
        .runtime()
        .getContainerLogs({ edgeAccessToken: services.token, id, tail: 20 })
      expect(text, lines.map((each) => each.text).join('\n')).toMatch(/^["[{]/)
      expect(JSON.parse(text), lines.map((each) => each.text).join('\n')).toEqual(expected)
      await services.runtime().removeContainer({ edgeAccessToken: services.token, id })
    })
  },
)
