/** Programs of others that redirect to themselves lead their callers below the path at the gateway: nginx, Python's http.server and Express. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { linesOf } from '@selvedge/protocol/lines'
import { createLimitedWork, createWorkCount } from '@selvedge/service-kit/work'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Running } from '../../../apps/runtime/src/services/containers/instances.ts'
import { requestHeaders } from '../../../apps/runtime/src/services/gateway/headers.ts'
import { createProxy } from '../../../apps/runtime/src/services/gateway/proxy.ts'
import { needs } from '../../harness/installed.ts'
import { root } from '../../harness/processes.ts'

const prefix = '/client/app'
let folder: string
const programs: ChildProcess[] = []
const closing: (() => unknown)[] = []

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'redirects-'))
  // The workers of nginx have another user.
  chmodSync(folder, 0o755)
  mkdirSync(join(folder, 'site/folder'), { recursive: true })
  writeFileSync(join(folder, 'site/folder/index.html'), 'the page')
})
afterAll(async () => {
  for (const close of closing) close()
  for (const each of programs) {
    if (each.exitCode !== null || !each.kill()) continue
    await once(each, 'exit')
  }
  rmSync(folder, { recursive: true })
})

function start(command: string, args: readonly string[], cwd = folder): ChildProcess {
  const program = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
  programs.push(program)
  return program
}

/** The number at the end of the first line with one. */
async function portOf(program: ChildProcess): Promise<number> {
  for await (const line of linesOf(program.stdout!, { maxLine: 1000, longer: 'split', ends: 'any' })) {
    const [, port] = /\bport (\d+)/.exec(line) ?? []
    if (port) return Number(port)
  }
  throw new Error('it has printed no port')
}

/** The gateway in front of a program. @returns its URL, with the path of the service */
async function front(port: number): Promise<string> {
  const running = {
    instance: { upstream: { host: '127.0.0.1', port } },
    plan: { log: () => undefined },
    requests: createWorkCount(),
    unanswered: createLimitedWork(),
    lastUsed: 0,
  } as unknown as Running
  const proxy = createProxy(() => performance.now())
  const server = createServer((request, response) => {
    const place = { prefix, clientId: 'client', host: request.headers.host ?? '', port }
    const facts = { caller: undefined, prefix, forwardToken: false, proto: 'http', requestId: 'id' } as const
    proxy.pass(request, response, {
      ...{ running, place, path: request.url!.slice(prefix.length), requestId: 'id', limitMs: 10_000 },
      ...{ sandboxed: false, speaksHttp2: false, wantsTrailers: false, isOfEvents: false },
      headers: requestHeaders(request.rawHeaders, { ...facts, from: '127.0.0.1', isOfEvents: false }),
      onOverrun: () => undefined,
      endWithCaller: () => () => undefined,
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    proxy.close()
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`
}

/** Where a path leads, and what is there in the end. */
async function followed(base: string, path: string) {
  const first = await fetch(base + path, { redirect: 'manual' })
  const last = await fetch(base + path)
  return [first.headers.get('location'), `${last.status} ${await last.text()}`]
}

/** A port that no program has. */
async function unused(): Promise<number> {
  const server = createSocketServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const isReached = (url: string) =>
  fetch(url, { redirect: 'manual' }).then(
    ({ status }) => status === 301,
    () => false,
  )

describe('a folder without its slash', () => {
  it('of http.server of Python', needs('python3'), async () => {
    const args = ['-u', '-m', 'http.server', '0', '--bind', '127.0.0.1', '--directory', join(folder, 'site')]
    const base = await front(await portOf(start('python3', args)))
    expect(await followed(base, '/folder')).toEqual([`${prefix}/folder/`, '200 the page'])
  })

  it('of nginx, which names its host and its own port', needs('nginx'), async () => {
    const port = await unused()
    const conf = join(folder, 'nginx.conf')
    writeFileSync(
      conf,
      `daemon off; pid ${folder}/nginx.pid; error_log stderr; events {}
       http { access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
         fastcgi_temp_path ${folder}/fastcgi; uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
         server { listen 127.0.0.1:${port}; root ${folder}/site; } }`,
    )
    start('nginx', ['-c', conf])
    await expect.poll(() => isReached(`http://127.0.0.1:${port}/folder`)).toBe(true)
    expect(await followed(await front(port), '/folder')).toEqual([`${prefix}/folder/`, '200 the page'])
  })

  it('of Express, and its own redirects; other hosts stay', needs('npm packages'), async () => {
    const source = `const express = require('express'); const app = express(); app.set('trust proxy', 'loopback')
      app.get('/old', (_, answer) => answer.redirect('/new'))
      app.get('/absolute', (request, answer) =>
        answer.redirect(request.protocol + '://' + request.get('x-forwarded-host') + '/new'))
      app.get('/away', (_, answer) => answer.redirect('http://127.0.0.1:1/new'))
      app.get('/new', (request, answer) => answer.send(request.get('x-forwarded-prefix')))
      app.use(express.static('${folder}/site'))
      const server = app.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port))`
    const cwd = join(root, 'tests/system/services/npm-packages')
    const base = await front(await portOf(start(process.execPath, ['-e', source], cwd)))
    expect(await followed(base, '/folder')).toEqual([`${prefix}/folder/`, '200 the page'])
    for (const path of ['/old', '/absolute'])
      expect(await followed(base, path)).toEqual([`${prefix}/new`, `200 ${prefix}`])
    const away = await fetch(`${base}/away`, { redirect: 'manual' })
    expect(away.headers.get('location')).toBe('http://127.0.0.1:1/new')
  })
})
