/** What every answer with a page or a file of the console allows a browser to do. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import Fastify from 'fastify'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { addPages } from './pages.ts'

async function policiesWith(hosts: readonly string[]): Promise<string[][]> {
  const folder = await temporaryFolder()
  const app = Fastify()
  onTestFinished(async () => {
    await app.close()
    await folder.remove()
  })
  mkdirSync(join(folder.path, 'assets'))
  writeFileSync(join(folder.path, 'index.html'), '<!doctype html>')
  writeFileSync(join(folder.path, 'assets/worker-1.mjs'), '')
  addPages(
    app,
    folder.path,
    () => new URL('https://console.example'),
    hosts,
    () => 'a.nonce',
  )
  const answers = await Promise.all(
    ['/', '/devices/1/services', '/assets/worker-1.mjs', '/nowhere'].map((url) =>
      app.inject({ url, headers: { host: 'console.example', accept: 'text/html' } }),
    ),
  )
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 404])
  // Each page brings a nonce; files stay in the caches of browsers.
  expect(answers.map(({ headers }) => headers['server-timing'])).toEqual([timing, timing, undefined, timing])
  return answers.map(({ headers }) => String(headers['content-security-policy']).split('; '))
}

it('shows the console under its own host name only', async () => {
  const folder = await temporaryFolder()
  const app = Fastify()
  onTestFinished(async () => {
    await app.close()
    await folder.remove()
  })
  writeFileSync(join(folder.path, 'index.html'), '<!doctype html>')
  app.setErrorHandler((cause: Error, _, reply) => reply.code(403).send(cause.message))
  let site = new URL('https://console.example:8443')
  addPages(
    app,
    folder.path,
    () => site,
    [],
    () => 'n',
  )
  const answerTo = async (host: string) => {
    const { statusCode, headers, body } = await app.inject({
      url: '/devices?b',
      headers: { host, accept: 'text/html' },
    })
    return [statusCode, headers.location ?? body]
  }
  const page = [200, '<!doctype html>']
  const refused = [403, 'the console is at https://console.example:8443']
  expect(await answerTo('console.example:8443')).toEqual(page)
  expect(await answerTo('CONSOLE.example')).toEqual(page)
  expect(await answerTo('other.example')).toEqual(refused)
  expect(await answerTo('127.0.0.1:8443')).toEqual(refused)
  site = new URL('http://localhost:8084')
  expect(await answerTo('127.0.0.1:8084')).toEqual([307, 'http://localhost:8084/devices?b'])
  expect(await answerTo('other.example')).toEqual([403, 'the console is at http://localhost:8084'])
})

const timing = 'nonce;desc="a.nonce"'
const policy = [
  ['default-src', "'none'"],
  ['script-src', "'self'"],
  ['worker-src', "'self'"],
  ['style-src', "'self'"],
  ['img-src', "'self'", 'data:'],
  ['font-src', "'self'"],
  ['connect-src', "'self'"],
  ['form-action', "'none'"],
  ['base-uri', "'none'"],
  ['frame-ancestors', "'none'"],
  ['require-trusted-types-for', "'script'"],
  ['trusted-types', 'default'],
].map((each) => each.join(' '))

it('allows only files and requests of the own origin', async () => {
  for (const each of await policiesWith([])) expect(each).toEqual(policy)
})

it('allows requests to the hosts of the map, and nothing else of theirs', async () => {
  const wider = policy.map((each) =>
    each.startsWith('connect-src') ? `${each} https://maps.example https://tiles.example:8443` : each,
  )
  for (const each of await policiesWith(['https://maps.example', 'https://tiles.example:8443']))
    expect(each).toEqual(wider)
})

it('serves the built files, each with its type, in the caches of browsers, and compressed for those that ask', async () => {
  const folder = await temporaryFolder()
  const app = Fastify()
  onTestFinished(async () => {
    await app.close()
    await folder.remove()
  })
  app.setNotFoundHandler((_, reply) => reply.code(404).send('nothing'))
  const site = () => new URL('https://console.example')
  expect(addPages(app, join(folder.path, 'missing'), site, [], () => 'n')).toBeUndefined()
  mkdirSync(join(folder.path, 'assets/folder.js'), { recursive: true })
  expect(addPages(app, folder.path, site, [], () => 'n')).toBeUndefined()
  for (const name of ['a.js', 'b.mjs', 'c.css', 'd.svg', 'e.json', 'f.woff2', 'g.html', 'h.map'])
    writeFileSync(join(folder.path, 'assets', name), `content of ${name} `.repeat(200))
  writeFileSync(join(folder.path, 'index.html'), '<!doctype html>')
  expect(addPages(app, folder.path, site, [], () => 'n')).toBeDefined()
  const get = (url: string, headers: object = {}) =>
    app.inject({ url, headers: { host: 'console.example', ...headers } })
  const typeOf = async (name: string) => (await get(`/assets/${name}`)).headers['content-type']
  expect(
    await Promise.all(['a.js', 'b.mjs', 'c.css', 'd.svg', 'e.json', 'f.woff2', 'g.html'].map(typeOf)),
  ).toEqual([
    ...['text/javascript; charset=utf-8', 'text/javascript; charset=utf-8', 'text/css; charset=utf-8'],
    ...['image/svg+xml', 'application/json', 'font/woff2', 'text/html; charset=utf-8'],
  ])
  const file = await get('/assets/a.js')
  expect(file.body).toBe('content of a.js '.repeat(200))
  expect(file.headers).toMatchObject({
    ...{ 'cache-control': 'public, max-age=31536000, immutable', vary: 'Accept-Encoding' },
    ...{ etag: expect.stringMatching(/^"[\w-]{22}"$/), 'cross-origin-opener-policy': 'same-origin' },
    ...{ 'cross-origin-resource-policy': 'same-origin', 'referrer-policy': 'no-referrer' },
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  })
  expect(file.headers).not.toHaveProperty('content-encoding')
  const zipped = await get('/assets/a.js', { 'accept-encoding': 'br, gzip' })
  expect(zipped.headers['content-encoding']).toBe('gzip')
  expect(gunzipSync(zipped.rawPayload).toString()).toBe(file.body)
  const cached = await get('/assets/a.js', { 'if-none-match': file.headers.etag })
  expect([cached.statusCode, cached.body]).toEqual([304, ''])
  const page = await get('/')
  expect([page.body, page.headers['cache-control']]).toEqual(['<!doctype html>', 'no-cache'])
  // Only a page is answered with the console where nothing is.
  for (const [url, headers] of [
    ['/index.html', {}],
    ['/assets/h.map', {}],
    ['/assets/folder.js', { accept: 'application/json' }],
  ] as const)
    expect(await get(url, headers)).toMatchObject({ statusCode: 404, body: 'nothing' })
})
