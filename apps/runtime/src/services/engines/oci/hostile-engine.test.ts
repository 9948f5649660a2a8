/** An engine that fails in every way, on a Unix socket of its own: what the runtime opened is closed, and nothing is thrown. */
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RpcError, readSettings } from '@selvedge/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isOfDevice } from '../../containers/device-failure.ts'
import type { Blobs } from '../../images/blobs.ts'
import type { Engine, Plan } from '../engine.ts'
import { findEngine } from './engine-api.ts'
import { readFrames } from './log-frames.ts'
import { createOciEngine } from './oci-engine.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

let folder: string
let server: Server
let engine: Engine
/** Listeners on host sockets, and readers of blobs, that are open. */
let open: { listeners: number; blobs: number }
let asked: string[]
let logged: string[]
/** What the engine answers, by method and beginning of the path; the first that fits counts. */
let answers: [string, Answer][]

const json =
  (value: unknown, status = 200): Answer =>
  (request, response) => {
    request.resume()
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))
  }
const running = {
  State: { Running: true, ExitCode: 0 },
  Config: { Labels: {} },
  NetworkSettings: { Ports: { '8080/tcp': [{ HostPort: '1' }] }, Networks: {} },
}
const sound: [string, Answer][] = [
  ['GET /info', json({ ServerVersion: '1', SecurityOptions: ['name=rootless'] })],
  ['GET /images/', json({})],
  ['GET /containers/', json(running)],
  ['POST /containers/create', json({ Id: 'x' }, 201)],
  ['POST', json({})],
  ['DELETE', json({})],
]

const digest = `sha256:${'a'.repeat(64)}`
const layerSize = 64 * 1024 * 1024
const config = { rootfs: { diff_ids: [digest] }, config: { Cmd: ['/x'] } }
async function* readBlob(name: string): AsyncGenerator<Buffer> {
  open.blobs++
  try {
    if (name === 'config') yield Buffer.from(JSON.stringify(config))
    else for (let sent = 0; sent < layerSize; sent += 65_536) yield Buffer.alloc(65_536)
  } finally {
    open.blobs--
  }
}

const guard = {
  missing: 'not in this test',
  protect: async () => undefined,
  except: async () => undefined,
  release: async () => undefined,
  releaseOthers: async () => undefined,
  close: () => undefined,
}

const networkAnswer: [string, Answer] = [
  'GET /networks/selvedge-',
  json({ IPAM: { Config: [{ Subnet: '10.89.0.0/24' }] } }),
]

const plan = (env: Record<string, string> = {}): Plan => ({
  id: 'client-service',
  key: 'account/client/service',
  dataKey: 'account/client/service',
  asking: { accountId: 'account', clientId: 'client', name: 'service', image: 'image', digest: 'sha256:00' },
  revision: 1,
  content: {
    kind: 'oci',
    config: { digest: 'config', size: 1 },
    layers: [{ digest, size: layerSize, diffId: digest }],
    entry: null,
    size: layerSize,
  },
  env,
  settings: readSettings({ 'MCM.HEALTH_SEC': '1', ...env }),
  info: { httpPort: 1, nodeId: 'n', apiRoot: 'http://127.0.0.1:1', serviceType: 's' },
  host: {
    openStorage: () => Promise.reject(new Error('OCI containers have no storage')),
    identityToken: () => ({ token: 't', expiresAt: '' }),
    serve: async () => {
      open.listeners++
      return { close: async () => void open.listeners-- }
    },
  },
  log: (stream, text) => logged.push(`${stream} ${text}`),
})

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'engine-'))
  open = { listeners: 0, blobs: 0 }
  asked = []
  logged = []
  answers = []
  server = createServer((request, response) => {
    const call = `${request.method} ${request.url?.replace('/v1.41', '')}`
    asked.push(call)
    const [, answer] = [...answers, ...sound].find(([start]) => call.startsWith(start)) ?? []
    ;(answer ?? json({ message: 'not found' }, 404))(request, response)
  })
  const socket = join(folder, 'engine.sock')
  server.listen(socket)
  await once(server, 'listening')
  engine = createOciEngine({ state: folder, socket, blobs: { read: readBlob } as unknown as Blobs, guard })
})
afterEach(() => {
  server.close()
  server.closeAllConnections()
  rmSync(folder, { recursive: true })
})

const nothingIsLeft = async () => {
  await expect.poll(() => open).toEqual({ listeners: 0, blobs: 0 })
  expect(readdirSync(join(folder, 'oci'))).toEqual([])
  expect(asked.some((call) => /^DELETE \/containers\/selvedge-.*v=true/.test(call))).toBe(true)
}

describe('a start fails, and leaves nothing, when the engine', () => {
  it.each<[string, [string, Answer]]>([
    ['refuses the container', ['POST /containers/create', json({ message: 'no' }, 500)]],
    ['refuses to start it', ['POST /containers/selvedge', json({ message: 'no' }, 500)]],
    ['answers null', ['GET /containers/', json(null)]],
    ['answers a list', ['GET /containers/', json([])]],
    ['answers no JSON', ['GET /containers/', (_, response) => response.end('{')]],
    ['answers in another form', ['GET /containers/', json({ State: { Running: 'yes' } })]],
    ['publishes no port', ['GET /containers/', json({ ...running, NetworkSettings: { Ports: null } })]],
    [
      'publishes an invalid port',
      [
        'GET /containers/',
        json({ ...running, NetworkSettings: { Ports: { '8080/tcp': [{ HostPort: 'x' }] } } }),
      ],
    ],
    [
      'publishes a port beyond all',
      [
        'GET /containers/',
        json({ ...running, NetworkSettings: { Ports: { '8080/tcp': [{ HostPort: '99999' }] } } }),
      ],
    ],
    [
      'answers by changing the protocol',
      [
        'GET /containers/',
        ({ socket }) =>
          socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
      ],
    ],
    ['closes the connection', ['GET /containers/', (_, response) => response.destroy()]],
    ['refuses with a malformed refusal', ['POST /containers/create', json({ message: 5 }, 500)]],
  ])('%s', async (_, answer) => {
    answers = [answer]
    await expect(engine.start(plan())).rejects.toMatchObject({
      reason: expect.stringMatching(/^(container_failed|engine_unavailable)$/),
    })
    await nothingIsLeft()
  })

  it('gives the container no address in its network', async () => {
    answers = [['GET /info', json({ SecurityOptions: [] })], networkAnswer]
    await expect(engine.start(plan())).rejects.toThrow('this device has no address in the network')
    await nothingIsLeft()
    expect(asked.some((call) => /^DELETE \/networks\/selvedge-/.test(call))).toBe(true)
  })

  it.each([
    ['no subnet', []],
    ['two subnets', [{ Subnet: '10.1.0.0/24' }, { Subnet: '10.2.0.0/24' }]],
  ])('gives the network of the container %s: the device could not be protected', async (_, Config) => {
    answers = [
      ['GET /info', json({ SecurityOptions: [] })],
      ['GET /networks/selvedge-', json({ IPAM: { Config } })],
    ]
    await expect(engine.start(plan())).rejects.toMatchObject({ reason: 'engine_unavailable' })
    await nothingIsLeft()
    expect(asked.some((call) => call.startsWith('POST /containers/create'))).toBe(false)
  })

  it('runs where the packet filter fails: no container starts unprotected', async () => {
    answers = [['GET /info', json({ SecurityOptions: [] })], networkAnswer]
    const refusal = new RpcError('engine_unavailable', 'the device cannot be protected')
    guard.protect = () => Promise.reject(refusal)
    await expect(engine.start(plan())).rejects.toBe(refusal)
    guard.protect = async () => undefined
    await nothingIsLeft()
    expect(asked.some((call) => call.startsWith('POST /containers/create'))).toBe(false)
  })

  it.each<[string, Answer]>([
    ['refuses it at once', (_, response) => response.writeHead(500).end('{"message":"no"}')],
    [
      'closes the connection in the middle',
      (request, response) => request.once('data', () => response.destroy()),
    ],
    ['claims that it is loaded, and has not', json({ stream: 'Loaded' })],
  ])('gets an image and %s: the image is closed', async (_, answer) => {
    answers = [
      ['GET /images/', json({ message: 'missing' }, 404)],
      ['POST /images/load', answer],
    ]
    await expect(engine.start(plan())).rejects.toMatchObject({
      reason: expect.stringMatching(/^(container_failed|engine_unavailable)$/),
    })
    expect(asked.filter((call) => call.startsWith('POST /containers/create'))).toEqual([])
    await nothingIsLeft()
  })
})

describe('a refusal by the engine', () => {
  const refusing = (path: string, message: string, status = 500): [string, Answer][] => [
    [`POST ${path}`, json({ message }, status)],
  ]
  const startError = () => engine.start(plan()).catch((cause: RpcError) => cause)

  it.each<[string, string, [string, Answer][]]>([
    [
      'storage_full',
      'a full disk of Docker',
      refusing('/containers/create', 'mkdir /x: no space left on device'),
    ],
    [
      'storage_full',
      'a full disk of crun under Podman',
      refusing('/containers/selvedge', 'OCI runtime error: crun: write `x`: No space left on device'),
    ],
    [
      'storage_full',
      'a full disk of containerd',
      refusing('/containers/selvedge', `${'task: '.repeat(200)}no space left on device: unknown`),
    ],
    [
      'storage_full',
      'a full disk for the network',
      refusing('/networks/create', 'no space left on device\n'),
    ],
    [
      'storage_full',
      'a full disk while an image is loaded',
      [
        ['GET /images/', json({ message: 'missing' }, 404)],
        ['POST /images/load', json({ errorDetail: {}, error: 'write /layer: no space left on device' })],
      ],
    ],
    [
      'storage_full',
      'a full disk in a list of attempts',
      [
        ['GET /images/', json({ message: 'missing' }, 404)],
        ['POST /images/load', json({ error: '* tar: write: no space left on device\n * dir: not one' })],
      ],
    ],
    ['engine_unavailable', 'descriptors', refusing('/containers/create', 'pipe2: too many open files')],
    [
      'engine_unavailable',
      'memory',
      refusing('/containers/selvedge', 'fork/exec runc: cannot allocate memory'),
    ],
    ['engine_unavailable', 'time', refusing('/containers/create', 'context deadline exceeded')],
    ['engine_unavailable', 'too many requests', refusing('/containers/create', 'wait', 429)],
    [
      'engine_unavailable',
      'the first question',
      [['GET /info', json({ message: 'dial: i/o timeout' }, 500)]],
    ],
  ])('is %s, and no fault of the container, for a shortage: %s', async (reason, _, answer) => {
    answers = answer
    const cause = await startError()
    expect(cause).toMatchObject({ reason })
    expect(isOfDevice(cause)).toBe(true)
  })

  it.each<[string, [string, Answer][]]>([
    ['a program that is missing', refusing('/containers/selvedge', 'exec /x: no such file or directory')],
    [
      'a program with the name of a shortage',
      refusing('/containers/selvedge', 'exec: "/x: no space left on device": not found in $PATH'),
    ],
    ['a request that is wrong', refusing('/containers/create', 'bad: no space left on device', 400)],
  ])('is container_failed for %s', async (_, answer) => {
    answers = answer
    const cause = await startError()
    expect(cause).toMatchObject({ reason: 'container_failed' })
    expect(isOfDevice(cause)).toBe(false)
  })
})

it('an upload ends when the engine neither reads nor answers', async () => {
  answers = [['POST /images/load', (request) => request.pause()]]
  const upload = findEngine(join(folder, 'engine.sock')).upload('/images/load', readBlob('layer'), 200)
  await expect(upload).rejects.toMatchObject({
    reason: 'engine_unavailable',
    message: expect.stringContaining('no answer for 0.2 s'),
  })
  await expect.poll(() => open.blobs).toBe(0)
})

describe('a container that runs', () => {
  it('has its log followed again when the stream ends, and is not read from the start again', async () => {
    const service = createServer((_, response) => response.end())
    service.listen(0, '127.0.0.1')
    await once(service, 'listening')
    const { port } = service.address() as { port: number }
    const found = {
      ...running,
      NetworkSettings: { Ports: { '8080/tcp': [{ HostPort: String(port) }] } },
    }
    const frame = Buffer.concat([Buffer.from([1, 0, 0, 0, 0, 0, 0, 3]), Buffer.from('hi\n')])
    const logCalls = () => asked.filter((call) => call.includes('/logs?'))
    answers = [
      [
        `GET /containers/${'selvedge'}`,
        (request, response) => {
          if (!request.url?.includes('/logs?')) return json(found)(request, response)
          return logCalls().length < 2 ? response.end(frame) : response.write(frame)
        },
      ],
      [
        'POST /containers/selvedge',
        (request, response) => {
          if (!request.url?.endsWith('/wait')) json({})(request, response)
        },
      ],
    ]
    const instance = await engine.start(plan())
    await expect.poll(() => logged).toEqual(['stdout hi', 'stdout hi'])
    expect(logCalls().map((call) => /tail=(\w+)/.exec(call)?.[1])).toEqual(['all', '0'])
    await instance.stop(0)
    service.close()
    service.closeAllConnections()
    await nothingIsLeft()
  })
})

describe('the frames of a log', () => {
  it('are read in every division, and a frame that claims to be large uses no memory', async () => {
    const lines: string[] = []
    const bytes = Buffer.concat([
      Buffer.from([1, 0, 0, 0, 0, 0, 0, 4]),
      Buffer.from('one\n'),
      Buffer.from([2, 0, 0, 0, 0, 0, 0, 4]),
      Buffer.from('two\n'),
    ])
    for (let size = 1; size <= bytes.length; size++) {
      await readFrames(
        (stream, text) => lines.push(`${stream} ${text}`),
        async (take) => {
          for (let at = 0; at < bytes.length; at += size) take(bytes.subarray(at, at + size))
        },
      )
    }
    expect(new Set(lines)).toEqual(new Set(['stdout one', 'stderr two']))
    expect(lines).toHaveLength(2 * bytes.length)

    let kept = 0
    await readFrames(
      (_, text) => {
        kept = Math.max(kept, text.length)
      },
      async (take) => {
        take(Buffer.from([1, 0, 0, 0, 255, 255, 255, 255]))
        for (let at = 0; at < 1000; at++) take(Buffer.alloc(65_536, 'x'))
      },
    )
    expect(kept).toBe(8192)
  })

  it('logs what either stream wrote after its last newline, also when the stream breaks', async () => {
    const lines: string[] = []
    const frame = (stream: number, text: string) =>
      Buffer.concat([Buffer.from([stream, 0, 0, 0, 0, 0, 0, Buffer.byteLength(text)]), Buffer.from(text)])
    const reading = readFrames(
      (stream, text) => lines.push(`${stream} ${text}`),
      async (take) => {
        take(Buffer.concat([frame(1, 'one\nbye'), frame(2, 'fatal: sensor lost')]))
        throw new Error('reset')
      },
    )
    await expect(reading).rejects.toThrow('reset')
    expect(lines.toSorted()).toEqual(['stderr fatal: sensor lost', 'stdout bye', 'stdout one'])
  })
})
