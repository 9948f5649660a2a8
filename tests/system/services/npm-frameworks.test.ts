/** Web frameworks for `node:http` answer in a function as they do on a port: through `@selvedge/client/function/node`, and as programs that listen. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packFolder } from '../../../apps/cli/src/archive/pack.ts'
import { needs } from '../../harness/installed.ts'
import { root } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

const folder = join(root, 'tests/system/services/npm-packages/functions')

describe('a framework for node:http in a function', needs('npm packages'), () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.stop())

  const frameworks = ['express', 'express4', 'fastify', 'koa', 'hapi']
  describe.each(
    frameworks.flatMap(
      (name) =>
        [
          [name, 'that listens', {}],
          [name, 'as a worker', { ADAPTED: '1' }],
        ] as const,
    ),
  )('%s %s', (name, _, more) => {
    let base: string
    beforeAll(async () => {
      const named = Object.keys(more).length > 0 ? `${name}-adapted` : name
      const { archive } = await packFolder(join(folder, name), { name: named })
      const { id: image } = await services.deployImage(archive)
      const spec = { name: named, image, env: { 'MCM.ACCESS': 'public', ...more } }
      const { basePath } = await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
      base = basePath
    })

    const post = (path: string, type: string, body: string | Buffer) =>
      services.call(`${base}${path}`, { method: 'POST', headers: { 'Content-Type': type }, body })

    it('routes, with parameters, a query and cookies', async () => {
      const { status, headers, text } = await services.call(`${base}/users/7?q=%26`)
      expect([status, JSON.parse(text)]).toEqual([200, { id: '7', q: '&' }])
      expect(headers['set-cookie']).toEqual(['a=1', 'b=2; Path=/'])
    })

    it('reads JSON', async () => {
      const { status, text } = await post('/sum', 'application/json', '{"a":2,"b":40}')
      expect([status, JSON.parse(text)]).toEqual([200, { sum: 42 }])
    })

    it('reads 5 MB as a stream, and streams 5 MB', async () => {
      const sent = await post('/length', 'application/octet-stream', Buffer.alloc(5_000_000))
      expect([sent.status, JSON.parse(sent.text)]).toEqual([200, { length: 5_000_000 }])
      const { status, text } = await services.call(`${base}/large`)
      expect([status, text.length, new Set(text).size]).toEqual([200, 5_000_000, 1])
    })

    it('answers with its own error handler, and has the storage of the function', async () => {
      const { status, text } = await services.call(`${base}/broken`)
      expect([status, JSON.parse(text)]).toEqual([503, { error: 'broken' }])
      const next = await services.call(`${base}/count`)
      expect([next.status, JSON.parse(next.text)]).toEqual([200, { count: 1 }])
    })
  })
})
