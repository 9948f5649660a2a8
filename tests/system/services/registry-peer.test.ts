/** The client of registries beside skopeo: the same registry, the same credential file, the same outcome. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openBlobs } from '../../../apps/runtime/src/services/images/blobs.ts'
import { pullImage } from '../../../apps/runtime/src/services/images/registry/registry.ts'
import { directNetwork } from '../../../tests/harness/direct-network.ts'
import { layoutFiles, tarOf } from '../../harness/archives.ts'
import { findProgram, needs } from '../../harness/installed.ts'

const files = layoutFiles({ layers: [tarOf([{ path: 'index.js', content: 'x' }])] })
const contentOf = (digest: string) => files.find(({ path }) => path === `blobs/sha256/${digest}`)!.content!
const index = JSON.parse(String(files.find(({ path }) => path === 'index.json')!.content))
const manifest = contentOf(index.manifests[0].digest.slice(7))
const basic = btoa('me:secret')

let folder: string
let server: Server | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'peer-'))
})
afterEach(() => {
  server?.close()
  server?.closeAllConnections()
  rmSync(folder, { recursive: true })
})

type Answer = (request: IncomingMessage, response: ServerResponse, host: string) => unknown

/** A registry with one image; the given function answers first, and returns whether it did. */
async function listen(answer: Answer): Promise<string> {
  const own = createServer((request, response) => {
    if (answer(request, response, host)) return
    const { pathname } = new URL(request.url ?? '', 'http://x')
    if (pathname === '/v2/') response.end('{}')
    else if (pathname.includes('/manifests/'))
      response.setHeader('Content-Type', 'application/vnd.oci.image.manifest.v1+json').end(manifest)
    else response.end(contentOf(pathname.split('sha256:')[1]!))
  })
  server = own
  own.listen(0, '127.0.0.1')
  await once(own, 'listening')
  const host = `127.0.0.1:${(own.address() as AddressInfo).port}`
  return host
}

const authFile = () => join(folder, 'auth.json')
const writeAuths = (auths: object) => writeFileSync(authFile(), JSON.stringify({ auths }))

/** Whether skopeo copies the image, and what it prints about a failure. */
async function copyWithSkopeo(host: string): Promise<{ works: boolean; printed: string }> {
  const policy = join(folder, 'policy.json')
  writeFileSync(policy, '{"default":[{"type":"insecureAcceptAnything"}]}')
  const args = ['--policy', policy, 'copy', '--src-tls-verify=false', '--src-authfile', authFile()]
  const child = spawn(
    findProgram('skopeo')!,
    [...args, `docker://${host}/team/app:1`, `dir:${join(folder, 'copied')}`],
    {
      env: { ...process.env, HOME: folder },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  const exited = once(child, 'exit')
  const printed = Buffer.concat(await child.stderr.toArray()).toString()
  const [code] = await exited
  return { works: code === 0, printed }
}

async function pull(host: string): Promise<{ works: boolean; reason?: string; message?: string }> {
  const pulled = pullImage(await openBlobs(join(folder, 'images')), `${host}/team/app:1`, {
    authFile: authFile(),
    outbound: directNetwork,
    announce: async () => undefined,
    watch: (content) => content,
    maxSize: 1e6,
    mayReuse: () => false,
  })
  return pulled.then(
    () => ({ works: true }),
    ({ reason, message }) => ({ works: false, reason, message }),
  )
}

/** Requires a password or the token of it, and offers what a function returns. */
const challenging =
  (challenge: (host: string) => string | string[]): Answer =>
  (request, response, host) => {
    const { authorization } = request.headers
    if (request.url?.startsWith('/token')) {
      response.writeHead(authorization === `Basic ${basic}` ? 200 : 401).end('{"token":"good"}')
      return true
    }
    if (authorization === 'Bearer good' || authorization === `Basic ${basic}`) return false
    response.writeHead(401, { 'WWW-Authenticate': challenge(host) }).end()
    return true
  }

it.each<[string, (host: string) => string | string[]]>([
  ['Bearer', (host) => `Bearer realm="http://${host}/token",service="s",scope="repository:team/app:pull"`],
  ['Negotiate beside Bearer', (host) => ['Negotiate', `Bearer realm="http://${host}/token",service="s"`]],
  ['Realm in other letters, with spaces', (host) => `BEARER Realm="http://${host}/token" , Service="s"`],
  ['Basic', () => 'Basic realm="x"'],
])('both answer the challenge %s', needs('skopeo'), async (_, challenge) => {
  const host = await listen(challenging(challenge))
  writeAuths({ [host]: { auth: basic } })
  expect([(await copyWithSkopeo(host)).works, (await pull(host)).works]).toEqual([true, true])
})

it.each<[string, (host: string) => string, boolean]>([
  ['https://host/v2/', (host) => `https://${host}/v2/`, true],
  ['http://host', (host) => `http://${host}`, true],
  ['host/team', (host) => `${host}/team`, true],
  ['host/team/app', (host) => `${host}/team/app`, true],
  ['host/other', (host) => `${host}/other`, false],
  ['another host', () => 'registry.example', false],
])('both find the key %s or do not', needs('skopeo'), async (_, keyOf, works) => {
  const host = await listen(challenging(() => 'Basic realm="x"'))
  writeAuths({ [keyOf(host)]: { auth: basic } })
  expect([(await copyWithSkopeo(host)).works, (await pull(host)).works]).toEqual([works, works])
})

it('both use an identity token as Azure has it', needs('skopeo'), async () => {
  const bodies: string[] = []
  const host = await listen((request, response, own) => {
    if (request.url?.startsWith('/token')) {
      void request.toArray().then((chunks) => {
        const form = new URLSearchParams(Buffer.concat(chunks).toString())
        bodies.push(
          `${request.method} ${form.get('grant_type')} ${form.get('refresh_token')} ${form.get('scope')}`,
        )
        response.end('{"access_token":"good"}')
      })
      return true
    }
    if (request.headers.authorization === 'Bearer good') return false
    response.writeHead(401, { 'WWW-Authenticate': `Bearer realm="http://${own}/token",service="s"` }).end()
    return true
  })
  const auth = btoa('00000000-0000-0000-0000-000000000000:')
  writeAuths({ [host]: { auth, identitytoken: 'refresh' } })
  expect([(await copyWithSkopeo(host)).works, (await pull(host)).works]).toEqual([true, true])
  expect(new Set(bodies)).toEqual(new Set(['POST refresh_token refresh repository:team/app:pull']))
})

it('both wait for a registry that is busy', needs('skopeo'), async () => {
  let busy = 0
  const host = await listen((request, response) => {
    if (!request.url?.includes('/manifests/') || busy++ > 0) return false
    response.writeHead(429, { 'Retry-After': '1' }).end()
    return true
  })
  writeAuths({})
  expect((await copyWithSkopeo(host)).works).toBe(true)
  busy = 0
  expect((await pull(host)).works).toBe(true)
})

it(
  'both show that the registry denies a request, and this client its words as well',
  needs('skopeo'),
  async () => {
    const words = 'requested access to the resource is denied'
    const host = await listen((request, response) => {
      if (request.url === '/v2/') return false
      response
        .writeHead(403, { 'Content-Type': 'application/json' })
        .end(JSON.stringify({ errors: [{ code: 'DENIED', message: words }] }))
      return true
    })
    writeAuths({})
    expect((await copyWithSkopeo(host)).printed).toContain('denied')
    expect(await pull(host)).toEqual({
      works: false,
      reason: 'registry_refused',
      message: `${host}: it refused a request without credentials, and ${authFile()} has no entry for ${host} (403): "denied: ${words}"`,
    })
  },
)
