/** What every answer with a page or a file of the console allows a browser to do. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
