/** Attacks of the runtime: JSON-RPC, uploads, streams that nobody reads, services. */
import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { mcmPaths, rpcPath } from '@selvedge/protocol'
import { functionImage, tarOf } from '../../../harness/archives.ts'
import { type Attack, bearer, headOf, hold, json, neverRead, pick, plan, send } from './send.ts'
import { forgedToken } from './tokens.ts'

const port = Number(new URL(plan.runtime).port)
const rpc = (name: string, body: string) => send({ name, url: plan.runtime + rpcPath, headers: json, body })
const call = (method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
const upgrade = {
  ...bearer,
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
}

const discover = `[${Array(100).fill('{"jsonrpc":"2.0","method":"rpc.discover","id":1}').join()}]`
const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`
const wide = call('getMe', Array(100_000).fill({ a: 1 }))
const fix = { longitude: 1, latitude: 1, speed: 1, bearing: 1 }
const calls: readonly Attack[] = [
  [3, () => rpc('batch of rpc.discover', discover)],
  [2, () => rpc('deep JSON', deep)],
  [0.5, () => rpc('wide JSON', wide)],
  [20, () => rpc('wrong token', call('updateGps', { edgeAccessToken: forgedToken(), ...fix }))],
  [2, () => rpc('NUL and lone surrogate', call('getNodes', { type: '\0\ud800'.repeat(1000) }))],
  [
    1,
    () =>
      hold(
        'answer that is not read',
        port,
        headOf(plan.runtime + rpcPath, 'POST', { ...json, 'Content-Length': String(discover.length) }) +
          discover,
      ),
  ],
]

const boundary = 'b0undary'
const part = `--${boundary}\r\nContent-Disposition: form-data; name="image"; filename="a.tar"\r\n\r\n`
const tar = { ...bearer, 'Content-Type': 'application/x-tar' }
const large = functionImage(
  `export default { fetch() { return new Response("x") } }//${'x'.repeat(6_000_000)}`,
  'large',
)
const bomb = gzipSync(tarOf([{ path: 'index.js', content: Buffer.alloc(64_000_000) }]))
const upload = (name: string, type: string, body: string | Buffer) =>
  send({ name, url: plan.runtime + mcmPaths.images, headers: { ...bearer, 'Content-Type': type }, body })
const uploads: readonly Attack[] = [
  [
    0.2,
    () =>
      upload(
        'multipart without its end',
        `multipart/form-data; boundary=${boundary}`,
        part + 'x'.repeat(100_000),
      ),
  ],
  [0.2, () => upload('refused archive', 'application/x-tar', randomBytes(300_000))],
  [0.05, () => upload('bomb', 'application/gzip', bomb)],
  [0.05, () => upload('large archive', 'application/x-tar', large)],
  [1, () => upload('content type of spaces', `multipart/form-data;${' '.repeat(12_000)}x`, 'x')],
  [
    0.2,
    () =>
      hold(
        'upload that stops',
        port,
        headOf(plan.runtime + mcmPaths.images, 'POST', { ...tar, 'Content-Length': '10000000' }) +
          'x'.repeat(1000),
      ),
  ],
  [
    0.2,
    () =>
      hold(
        'upload byte by byte',
        port,
        headOf(plan.runtime + mcmPaths.images, 'POST', { ...tar, 'Content-Length': '10000000' }),
        'x',
      ),
  ],
  [
    1,
    () =>
      hold(
        'length of 31 GB without a body',
        port,
        headOf(plan.runtime + mcmPaths.images, 'POST', { ...tar, 'Content-Length': '31000000000' }),
      ),
  ],
]

const loud = () => `${plan.runtime}${mcmPaths.containers}/${pick(plan.loud)}/logs`
const streams: readonly Attack[] = [
  [0.5, () => neverRead('log that is not read', `${loud()}?follow=true`, bearer)],
  [0.5, () => neverRead('pipelined logs that are not read', `${loud()}?tail=1000`, bearer, 30)],
  [
    0.5,
    () => neverRead('endless answer that is not read', `${plan.runtime + plan.pouringPath}/endless`, bearer),
  ],
  [0.5, () => neverRead('WebSocket that is not read', `${plan.runtime + plan.pouringPath}/socket`, upgrade)],
]

const service = (name: string, path: string, headers: Record<string, string> = {}, method = 'GET') =>
  send({ name, method, url: plan.runtime + path, headers: { ...bearer, ...headers } })
/** Many at once of one name. */
function deployOfOneName(): void {
  const spec = { name: 'contested', image: plan.image, env: {} }
  const body = call('deployContainer', { edgeAccessToken: plan.token, spec })
  for (let left = 24; left > 0; left--) rpc('deployment of one name', body)
}
const services: readonly Attack[] = [
  [4, () => service('hostile function', pick(plan.hostilePaths))],
  [2, () => service('odd path', `${plan.goodPath}/%2e%2e/%2f..%5c${'a/'.repeat(500)}`)],
  [
    2,
    () =>
      service('identity in a header', plan.goodPath, {
        X_Selvedge_Account: 'eve',
        'X-Selvedge-Account': 'eve',
      }),
  ],
  [
    2,
    () =>
      service('headers that are taken away', plan.goodPath, {
        Connection: 'host, authorization, x-selvedge-account',
      }),
  ],
  [1, () => service('upgrade by POST', plan.goodPath, upgrade, 'POST')],
  [1, () => service('header of spaces', plan.goodPath, { Accept: `a${' '.repeat(12_000)}b` })],
  [0.02, deployOfOneName],
]

export const runtimeAttacks: readonly Attack[] = [...calls, ...uploads, ...streams, ...services]
