/** Hostile functions: the runtime and the other services go on, and the reason of every end is in the history. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { instanceFolder, processesOf } from '../../harness/instances.ts'
import { type Services, startServices } from '../../harness/services.ts'
import { opens } from '../../harness/unread.ts'

let services: Services
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.stop())

/** Deploys a module worker that runs the text as the body of an async function and answers with its result. */
async function attack(name: string, attempt: string, env: Record<string, string> = {}) {
  const source = `export default { async fetch(request, env, context) {
    try { return new Response(String(await (async () => { ${attempt} })())) }
    catch (error) { return new Response(error.name + ': ' + error.message) }
  } }`
  const { id, basePath } = await services.deploy(name, source, env)
  return { id, ask: () => services.call(basePath) }
}

async function expectAlive() {
  expect((await services.runtime().getMe()).nodeId).toMatch(/^[0-9a-f]{56}$/)
}

const always = { 'MCM.IDLE_SEC': '0' }
const query = (id: string) => ({ edgeAccessToken: services.token, id })
const detailsOf = async (id: string) =>
  (await services.runtime().getContainerHistory(query(id))).history.map(({ detail }) => detail).join('\n')

describe('the content of an image', () => {
  const blobOf = (text: string) => {
    const folder = join(services.stack.state, 'runtime', 'images', 'sha256')
    const name = readdirSync(folder).find((each) => readFileSync(join(folder, each), 'latin1').includes(text))
    return join(folder, name!)
  }

  it('does not run with a flipped byte; deploying the image again repairs it', async () => {
    const source = 'export default { fetch: () => new Response("genuine content") }'
    const { id, basePath } = await services.deploy('flipped', source)
    const path = blobOf('genuine content')
    writeFileSync(path, readFileSync(path, 'utf8').replace('genuine content', 'Genuine content'))
    await services.runtime().stopContainer(query(id))
    await expect(services.runtime().startContainer(query(id))).rejects.toMatchObject({
      reason: 'digest_mismatch',
      message: expect.stringContaining('deploy the image again'),
    })
    await services.deploy('flipped', source)
    expect((await services.call(basePath)).text).toBe('genuine content')
  })

  it('that is missing is the failure of this function, and not of the runtime', async () => {
    const source = 'export default { fetch: () => new Response("content that goes away") }'
    const { id } = await services.deploy('missing', source, always)
    rmSync(blobOf('content that goes away'))
    await services.restart('SIGKILL')
    await expect.poll(() => detailsOf(id)).toMatch(/is missing; deploy the image again/)
    await expectAlive()
    await services.runtime().removeContainer(query(id))
  })
})

describe('a device without a free file descriptor', () => {
  it('starts no function, goes on, and starts it when there is one again', async () => {
    const { id, basePath } = await services.deploy(
      'later',
      'export default { fetch: () => new Response("up") }',
    )
    await services.runtime().stopContainer(query(id))
    const pid = services.runtimePid()
    const limit = (count: number | string) =>
      execFileSync('prlimit', ['--pid', String(pid), `--nofile=${count}:`])
    const open = readdirSync(`/proc/${pid}/fd`).length
    // From no descriptor beyond that of the request to almost enough for a start: every step of it fails once.
    for (let free = 1; free < 14; free++) {
      limit(open + free)
      await services
        .runtime()
        .startContainer(query(id))
        .then(
          () => services.runtime().stopContainer(query(id)),
          () => undefined,
        )
    }
    limit(1024)
    await expectAlive()
    await services.runtime().startContainer(query(id))
    expect((await services.call(basePath)).text).toBe('up')
    const folder = instanceFolder(services.stack.state)
    await services.runtime().stopContainer(query(id))
    // Nothing is left of the starts that failed: no process, and no folder.
    await expect.poll(() => [...processesOf(folder), ...readdirSync(folder)]).toEqual([])
    expect(readdirSync(`/proc/${pid}/fd`).length).toBeLessThan(open + 14)
  })
})

describe('a redirect of a function’s fetch', () => {
  it('carries credentials to the same origin only', async () => {
    const seen: (IncomingHttpHeaders & { at?: string })[] = []
    const listen = async (name: string, next: () => string | undefined) => {
      const server = createServer((request, response) => {
        seen.push({ ...request.headers, at: name + request.url })
        const location = request.url === '/end' ? undefined : next()
        response
          .writeHead(location === undefined ? 200 : 302, location === undefined ? {} : { Location: location })
          .end()
      }).listen(0, '127.0.0.1')
      await new Promise((resolve) => server.once('listening', resolve))
      return { server, host: `127.0.0.1:${(server.address() as AddressInfo).port}` }
    }
    const other = await listen('other', () => `http://${own.host}/end`)
    const steps = ['/second', `http://${other.host}/`]
    const own = await listen('own', () => steps.shift())
    const { ask } = await attack(
      'redirected',
      `return (await fetch('http://${own.host}/first', { headers: { Authorization: 'Bearer secret', Cookie: 'a=b', 'X-Own': 'c' } })).status`,
      { 'MCM.OUTBOUND': `${own.host},${other.host}` },
    )
    expect((await ask()).text).toBe('200')
    own.server.close()
    other.server.close()
    expect(
      seen.map(({ at, authorization, cookie, ...all }) => [at, authorization, cookie, all['x-own']]),
    ).toEqual([
      ['own/first', 'Bearer secret', 'a=b', 'c'],
      ['own/second', 'Bearer secret', 'a=b', 'c'],
      ['other/', undefined, undefined, 'c'],
      ['own/end', undefined, undefined, 'c'],
    ])
  })
})

describe('a function that replaces what its host program stands on', () => {
  it('keeps its storage and its identity', async () => {
    const { id, ask } = await attack(
      'replacing',
      `const broken = () => { throw new Error('replaced') }
       JSON.stringify = JSON.parse = broken; TextEncoder.prototype.encode = TextDecoder.prototype.decode = broken
       for (const name of ['get', 'set', 'has', 'delete', 'forEach']) Map.prototype[name] = broken
       for (const name of ['push', 'sort', 'map', 'slice']) Array.prototype[name] = broken
       Uint8Array.prototype.set = Uint8Array.prototype.subarray = broken
       context.storage.setItem('key', 'value')
       const { token } = await context.identityToken(context.info.serviceType)
       return context.storage.getItem('key') + typeof token`,
    )
    expect((await ask()).text).toBe('valuestring')
    expect(await detailsOf(id)).not.toContain('ended')
  })
})

describe('the control line', () => {
  /** Processor time in milliseconds and memory in megabytes that the runtime has used. */
  const used = () => {
    const pid = services.runtimePid()
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    const rss = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]
    return { cpuMs: (Number(fields[11]) + Number(fields[12])) * 10, megabytes: Number(rss) / 1024 }
  }
  const write = `const { core } = Deno[Deno.internal]
    const [line] = Object.entries(core.resources()).find(([, name]) => name === 'unixStream')
    const write = (kind, length, bytes) => { const head = Buffer.alloc(5); head.writeUInt32BE(length); head[4] = kind; return core.writeAll(Number(line), Buffer.concat([head, bytes])) }`

  it.each([3, 24])('costs the runtime next to nothing when %i MB come in one message', async (megabytes) => {
    const { id, ask } = await attack(
      'message',
      `${write}; await write(0, ${megabytes} << 20, Buffer.alloc(${megabytes} << 20, '['))`,
      always,
    )
    const before = used()
    expect((await ask()).status).toBe(502)
    await expect
      .poll(() => detailsOf(id))
      .toMatch(/broke the control protocol: a frame of \d+ bytes; the limit is 262144/)
    const after = used()
    expect(after.cpuMs - before.cpuMs).toBeLessThan(1000)
    expect(after.megabytes - before.megabytes).toBeLessThan(60)
  })

  it(
    'has one question under way: a function that asks and never reads does not fill the runtime',
    opens('apps/runtime/src/services/engines/function/control-line.ts'),
    async () => {
      const { ask } = await attack(
        'asking',
        `${write}
       const text = Buffer.from(JSON.stringify({ identify: context.info.serviceType, ask: 1 }))
       let asked = 0
       const flood = async () => { for (;;) { await write(0, text.length, text); asked++ } }
       await Promise.race([flood(), new Promise((resolve) => setTimeout(resolve, 3000))])
       return asked`,
      )
      const before = used()
      // The host program itself goes on reading: what is bounded is what waits at any time.
      expect(Number((await ask()).text)).toBeGreaterThan(100)
      expect(used().megabytes - before.megabytes).toBeLessThan(100)
      await expectAlive()
    },
  )
})

describe('a start with 60 MB of source', () => {
  it('is spread over many turns of the event loop, in which the runtime serves others', async () => {
    const source = `/*${'x'.repeat(60_000_000)}*/ export default { fetch: () => new Response('large') }`
    const { id, basePath } = await services.deploy('large', source, {
      'MCM.MEMORY_MB': '1024',
      'MCM.HEALTH_SEC': '300',
    })
    await services.runtime().stopContainer(query(id))
    let isStarted = false
    let served = 0
    const starting = services
      .runtime()
      .startContainer(query(id))
      .finally(() => {
        isStarted = true
      })
    while (!isStarted) {
      await services.runtime().getMe()
      served++
    }
    await starting
    expect((await services.call(basePath)).text).toBe('large')
    expect(served).toBeGreaterThan(10)
    await services.runtime().removeContainer(query(id))
  })
})
