/** Hostile callers: bounded in number and rate, from an address of their own. */
import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { functionImage, tarOf } from '../harness/archives.ts'
import { type Counts, readPlan, sendCounts } from './plan.ts'

const plan = readPlan()
const counts: Counts = {}
const count = (name: string) => {
  counts[name] = (counts[name] ?? 0) + 1
}
const from = '127.0.0.2'
const runtime = new URL(plan.runtime)
const bearer = { Authorization: `Bearer ${plan.token}` }
/** Connections that are held open at once. */
const maxHeld = 60
const held = new Set<Socket>()

interface Sent {
  readonly name: string
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

function send({ name, url, method = 'POST', headers = {}, body }: Sent): void {
  const asked = request(
    url,
    { method, headers, agent: false, timeout: 60_000, localAddress: from },
    (response) => {
      response.resume()
      response.on('end', () => count(`${name} ${response.statusCode}`))
      response.on('error', () => count(`${name} cut off`))
    },
  )
  asked.on('timeout', () => asked.destroy(new Error('no answer in 60 s')))
  asked.on('error', (cause: NodeJS.ErrnoException) => count(`${name} ${cause.code ?? cause.message}`))
  asked.end(body)
}

/** A connection that says something and then does nothing more, or drips. */
function hold(name: string, port: number, text: string | Buffer, drip?: string): void {
  if (held.size >= maxHeld) return
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  held.add(socket)
  socket.pause()
  socket.write(text)
  const dripping = drip === undefined ? undefined : setInterval(() => socket.write(drip), 1000)
  const end = setTimeout(() => socket.destroy(), 45_000)
  socket.on('error', () => undefined)
  socket.on('close', () => {
    held.delete(socket)
    clearInterval(dripping)
    clearTimeout(end)
    count(`${name} ended`)
  })
}

const head = (method: string, path: string, more: Readonly<Record<string, string>> = {}) =>
  `${method} ${path} HTTP/1.1\r\nHost: ${runtime.host}\r\n${Object.entries(more)
    .map(([key, value]) => `${key}: ${value}\r\n`)
    .join('')}\r\n`
const json = { 'Content-Type': 'application/json' }
const rpcUrl = `${plan.runtime}/jsonrpc/v1`
const discover = `[${Array(100).fill('{"jsonrpc":"2.0","method":"rpc.discover","id":1}').join()}]`
const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`
const wide = JSON.stringify({ jsonrpc: '2.0', method: 'getMe', id: 1, params: Array(100_000).fill({ a: 1 }) })
const forged = () =>
  `eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6IngifQ.${randomBytes(300).toString('base64url')}.${randomBytes(64).toString('base64url')}`
const boundary = 'b0undary'
const part = `--${boundary}\r\nContent-Disposition: form-data; name="image"; filename="a.tar"\r\n\r\n`
const multipart = { ...bearer, 'Content-Type': `multipart/form-data; boundary=${boundary}` }
const images = `${plan.runtime}/mcm/v1/images`
const tar = { ...bearer, 'Content-Type': 'application/x-tar' }
const large = functionImage(
  `export default { fetch() { return new Response("x") } }//${'x'.repeat(6_000_000)}`,
  'large',
)
const bomb = gzipSync(tarOf([{ path: 'index.js', content: Buffer.alloc(64_000_000) }]))
const ports = [Number(runtime.port), Number(new URL(plan.identity).port)]
const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!

/** What is done, and how many times a second. */
const attacks: readonly [perSecond: number, attack: () => void][] = [
  [3, () => send({ name: 'batch of rpc.discover', url: rpcUrl, headers: json, body: discover })],
  [2, () => send({ name: 'deep JSON', url: rpcUrl, headers: json, body: deep })],
  [0.5, () => send({ name: 'wide JSON', url: rpcUrl, headers: json, body: wide })],
  [
    20,
    () =>
      send({
        name: 'wrong token',
        url: rpcUrl,
        headers: json,
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'updateGps',
          params: { edgeAccessToken: forged(), longitude: 1, latitude: 1, speed: 1, bearing: 1 },
        }),
      }),
  ],
  [
    10,
    () =>
      send({
        name: 'wrong form',
        url: `${plan.identity}/token`,
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: pick([
          'a=b&a=b',
          'grant_type=refresh_token&refresh_token=x&client_id=y',
          '%ff=%',
          `grant_type=id_token_signin&id_token=${forged()}`,
        ]),
      }),
  ],
  [10, () => hold('garbage', pick(ports), randomBytes(2000))],
  [
    2,
    () =>
      hold(
        'slow body',
        pick(ports),
        head('POST', pick(['/jsonrpc/v1', '/nothing', plan.goodPath, '/token']), {
          ...json,
          'Content-Length': '100000',
        }),
        'x',
      ),
  ],
  [1, () => hold('slow head', pick(ports), 'GET / HTTP/1.1\r\nHost: x\r\n', 'X-A: b\r\n')],
  [
    1,
    () =>
      hold(
        'never reads a log',
        ports[0]!,
        head('GET', `/mcm/v1/containers/${pick(plan.loud)}/logs?follow=true`, bearer),
      ),
  ],
  [
    1,
    () =>
      hold(
        'never reads an answer',
        ports[0]!,
        head('POST', '/jsonrpc/v1', { ...json, 'Content-Length': String(discover.length) }) + discover,
      ),
  ],
  [
    0.2,
    () =>
      send({
        name: 'multipart without its end',
        url: images,
        headers: multipart,
        body: `${part}${'x'.repeat(100_000)}`,
      }),
  ],
  [0.2, () => send({ name: 'refused archive', url: images, headers: tar, body: randomBytes(300_000) })],
  [
    0.05,
    () =>
      send({
        name: 'bomb',
        url: images,
        headers: { ...bearer, 'Content-Type': 'application/gzip' },
        body: bomb,
      }),
  ],
  [0.05, () => send({ name: 'large archive', url: images, headers: tar, body: large })],
  [
    0.2,
    () =>
      hold(
        'upload that stops',
        ports[0]!,
        head('POST', '/mcm/v1/images', { ...tar, 'Content-Length': '10000000' }) + 'x'.repeat(1000),
      ),
  ],
  [
    4,
    () =>
      send({
        name: 'hostile function',
        method: 'GET',
        url: plan.runtime + pick(plan.hostilePaths),
        headers: bearer,
      }),
  ],
  [
    2,
    () =>
      send({
        name: 'odd path',
        method: 'GET',
        url: `${plan.runtime}${plan.goodPath}/%2e%2e/%2f..%5c${'a/'.repeat(500)}`,
        headers: bearer,
      }),
  ],
]

sendCounts(counts)
const tickMs = 50
setInterval(() => {
  for (const [perSecond, attack] of attacks) if (Math.random() < (perSecond * tickMs) / 1000) attack()
}, tickMs)
