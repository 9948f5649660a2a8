/** Requests of clients that leave: each is counted exactly as long as its handler works. */
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createLog } from '../log/index.ts'
import { followWorkload } from '../work/workload.ts'
import { createHttpApp } from './http-app.ts'
import { limitRoutes } from './route-limits.ts'

const ending: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end()
})

const head = 'Host: localhost\r\nContent-Type: application/json\r\n'
const complete = `POST /slow HTTP/1.1\r\n${head}Content-Length: 2\r\n\r\n{}`

/** An app with one route, with a handler that works until the test ends it. */
async function serve() {
  const workload = followWorkload()
  const log = createLog({ service: 'test', level: 'error', now: Date.now }, () => undefined)
  const app = createHttpApp(log, 65_536, { vital: [] })
  const working: (() => void)[] = []
  app.post('/slow', () => new Promise((resolve) => working.push(() => resolve({ status: 'ok' }))))
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  ending.push(
    () => app.close(),
    () => workload.stop(),
    () => endAll(),
  )
  const endAll = () => {
    for (const end of working.splice(0)) end()
  }
  const open = async (text: string): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    ending.push(() => socket.destroy())
    await once(socket, 'connect')
    socket.write(text)
    return socket
  }
  return { open, working, endAll, underWay: () => workload.counts().requests, port }
}

it.each([
  ['FIN', (socket: Socket) => socket.destroy()],
  ['RST', (socket: Socket) => socket.resetAndDestroy()],
  ['a half-close', (socket: Socket) => socket.end()],
])('a client that leaves with %s leaves no count behind', async (_, leave) => {
  const { open, working, endAll, underWay } = await serve()
  for (let round = 1; round <= 3; round++) {
    const socket = await open(complete)
    await expect.poll(() => working.length).toBe(round)
    leave(socket)
  }
  // Its work continues, and counts.
  expect(underWay()).toBe(3)
  endAll()
  await expect.poll(underWay).toBe(0)
})

it('a body that arrives slowly is not counted', async () => {
  const { open, working, underWay } = await serve()
  await open(`POST /slow HTTP/1.1\r\n${head}Content-Length: 100\r\n\r\n{`)
  await open(complete)
  await expect.poll(() => working.length).toBe(1)
  expect(underWay()).toBe(1)
})

it('refuses with 503 beyond the limit, and serves again when the work is complete', async () => {
  const { working, endAll, port } = await serve()
  const send = async () => {
    const url = `http://127.0.0.1:${port}/slow`
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{}',
    })
    return [response.status, await response.json()]
  }
  const refused: unknown[] = []
  const all = Array.from({ length: 1100 }, async () => {
    const answer = await send()
    if (answer[0] !== 200) refused.push(answer)
  })
  await expect.poll(() => working.length + refused.length).toBe(1100)
  expect(refused).not.toEqual([])
  for (const each of refused) expect(each).toMatchObject([503, { error: 'temporarily_unavailable' }])
  endAll()
  await Promise.all(all)
  const next = send()
  await expect.poll(() => working.length).toBe(1)
  endAll()
  expect(await next).toEqual([200, { status: 'ok' }])
})

describe('routes', () => {
  interface Route {
    readonly url: string
    handler(request: object, reply: object): unknown
  }

  /** Routes as an app declares them, with handlers that work until `end`. */
  function declare(...urls: string[]) {
    const refused: unknown[] = []
    const working: (() => void)[] = []
    const handler = () => new Promise<void>((resolve) => working.push(resolve))
    let onRoute = (_: Route): void => undefined
    const addHook = (name: string, hook: typeof onRoute) => {
      if (name === 'onRoute') onRoute = hook
    }
    limitRoutes({ addHook } as never, new Set(['/vital']), (response) => void refused.push(response))
    const routes = urls.map((url): Route => ({ url, handler }))
    for (const each of routes) onRoute(each)
    ending.push(() => {
      for (const end of working) end()
    })
    const raw = { response: true }
    let hijacked = 0
    const call = (route = routes[0]!) => route.handler({}, { raw, hijack: () => void hijacked++ })
    /** Calls a route until there is no room. */
    const fill = (route = routes[0]!) => {
      for (let each = 0; each < 10_000 && refused.length === 0; each++) call(route)
    }
    return { routes, handler, refused, raw, call, fill, working, hijackedCount: () => hijacked }
  }

  it('that are vital are not limited', () => {
    const { routes, handler } = declare('/vital', '/other')
    expect(routes[0]!.handler).toBe(handler)
    expect(routes[1]!.handler).not.toBe(handler)
  })

  it('of one path share a limit, and those of another have their own', () => {
    const { routes, fill, call, refused, raw, working, hijackedCount } = declare('/a', '/a', '/b')
    fill()
    expect([refused, hijackedCount()]).toEqual([[raw], 1])
    const before = working.length
    call(routes[1])
    expect([refused.length, working.length]).toEqual([2, before])
    call(routes[2])
    expect([refused.length, working.length]).toEqual([2, before + 1])
  })

  it('count as requests in the work of the process', () => {
    const workload = followWorkload()
    ending.push(() => workload.stop())
    const { call } = declare('/a')
    expect(workload.counts()).toEqual({ requests: 0 })
    call()
    expect(workload.counts()).toEqual({ requests: 1 })
  })
})
