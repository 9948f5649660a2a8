/** Which ports of the device are open, and where they lead, while containers come, change and go. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { readSettings } from '@selvedge/protocol'
import { createMemoryLog, freePort } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Route } from '../containers/views.ts'
import type { StoredContainer } from '../deployments/deployments.ts'
import { readGrantedPorts } from '../grants/network-grants.ts'
import { reachedHosts } from './held-ports.ts'
import { createPorts, type Ports } from './ports.ts'

let ports: Ports
let routes: Route[]
let servers: Server[]
let numbers: number[]

async function listen(text: string): Promise<number> {
  const server = createServer((socket) => socket.end(text))
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

beforeEach(async () => {
  servers = []
  routes = []
  ports = create()
  numbers = [await freePort(), await freePort()]
})
afterEach(() => {
  ports.close()
  for (const each of servers) each.close()
})

const at = (host: string) => ({ host, isOptional: false })

function create(publish: readonly string[] = []): Ports {
  const created = createPorts({
    granted: readGrantedPorts(publish),
    reserved: () => new Set(),
    log: createMemoryLog(),
    now: () => 0,
    maxPassages: 100,
    // Every address of 127.0.0.0/8 is of the loopback: here 127.0.0.2 is one of the network.
    hosts: { loopback: [at('127.0.0.1')], network: [at('127.0.0.1'), at('127.0.0.2')] },
  })
  created.follow({ routes: () => routes })
  return created
}

const stored = (name: string, value: string, more: Partial<StoredContainer> = {}): StoredContainer => ({
  clientId: 'app',
  accountId: 'acme',
  name,
  image: 'i',
  imageKey: 'k',
  digest: 'd',
  dataKey: name,
  env: { 'MCM.PORTS': value },
  created: 0,
  wanted: 'running',
  failed: null,
  note: null,
  revision: 1,
  restarts: 0,
  ...more,
})

/** A container that runs, with its ports at a port of this machine. */
function route(container: StoredContainer, there: number): Route {
  const instance = { portOf: () => ({ host: '127.0.0.1', port: there }) }
  return {
    id: `${container.clientId}-${container.name}`,
    prefixes: [],
    container,
    settings: readSettings(container.env),
    service: { acquire: () => ({ instance, lastUsed: 0 }) },
    isStopped: () => container.wanted === 'stopped',
  } as unknown as Route
}

/** What a port answers; undefined if nothing listens. */
async function ask(port: number, host = '127.0.0.1'): Promise<string | undefined> {
  const socket = connect(port, host)
  let text = ''
  try {
    for await (const chunk of socket.setEncoding('utf8')) text += chunk
    return text
  } catch {
    return undefined
  }
}

describe('a port of a container', () => {
  it('is open while the container is to run, and leads to the one that has it', async () => {
    const [port] = numbers as [number]
    const container = stored('a', `${port}:7`)
    expect(ports.records(container)).toEqual([
      { port, protocol: 'tcp', target: 7, reach: 'loopback', problem: 'it is not open yet' },
    ])
    routes = [route(container, await listen('one'))]
    ports.refresh()
    await expect.poll(() => ask(port)).toBe('one')
    expect(ports.records(container)![0]!.problem).toBeNull()
    routes = [route(stored('a', `${port}:7`, { revision: 2 }), await listen('two'))]
    ports.refresh()
    await expect.poll(() => ask(port)).toBe('two')
    routes = [route(stored('a', `${port}:7`, { wanted: 'stopped' }), 1)]
    ports.refresh()
    await expect.poll(() => ask(port)).toBeUndefined()
  })

  it('stays open during a redeploy, and is closed when the new version does not have it', async () => {
    const [port, other] = numbers as [number, number]
    routes = [route(stored('a', `${port}`), await listen('one'))]
    ports.refresh()
    await expect.poll(() => ask(port)).toBe('one')
    const next = stored('a', `${other}`)
    const release = await ports.claim(next)
    expect(await ask(port)).toBe('one')
    // Held, and leads nowhere yet.
    expect(await ask(other)).toBe('')
    routes = [route(next, await listen('two'))]
    release()
    await expect.poll(() => ask(other)).toBe('two')
    expect(await ask(port)).toBeUndefined()
  })

  it('is free again after a deployment that failed', async () => {
    const [port] = numbers as [number]
    const release = await ports.claim(stored('a', `${port}`))
    expect(await ask(port)).toBe('')
    release()
    await expect.poll(() => ask(port)).toBeUndefined()
  })

  it('is refused if another program has it, with all ports of that deployment', async () => {
    const [free] = numbers as [number]
    const other = await listen('other')
    await expect(ports.claim(stored('a', `${free},${other}`))).rejects.toMatchObject({
      reason: 'conflict',
      message: `the port ${other}/tcp cannot be opened: another program of this device has it`,
    })
    await expect.poll(() => ask(free)).toBeUndefined()
    expect(await ask(other)).toBe('other')
  })

  it('is refused to a second deployment at the same time, and the first keeps it', async () => {
    const [port] = numbers as [number]
    const release = await ports.claim(stored('first', `${port}`))
    await expect(ports.claim(stored('second', `${port}`))).rejects.toMatchObject({
      message: `the port ${port}/tcp belongs to another service`,
    })
    routes = [route(stored('first', `${port}`), await listen('first'))]
    release()
    await expect.poll(() => ask(port)).toBe('first')
  })

  it('shows why it is not open, after a start of the device in which another program was first', async () => {
    const other = await listen('other')
    const container = stored('a', `${other}`)
    routes = [route(container, await listen('mine'))]
    ports.refresh()
    await expect
      .poll(() => ports.records(container)![0]!.problem)
      .toBe('another program of this device has it')
    servers.shift()!.close()
  })

  it('is of the older container, should two of them have it', async () => {
    const [port] = numbers as [number]
    const younger = route(stored('a', `${port}`, { created: 2 }), await listen('younger'))
    routes = [younger, route(stored('b', `${port}`, { created: 1 }), await listen('older'))]
    ports.refresh()
    await expect.poll(() => ask(port)).toBe('older')
  })

  it('is open to the network only if the device grants it', async () => {
    ports.close()
    const [granted = 0, other = 0] = numbers
    ports = create([`${granted}/tcp service=app-a`, `${other}/tcp service=app-b`])
    const container = stored('a', `${granted},${other}`)
    expect(ports.records(container)!.map(({ reach }) => reach)).toEqual(['network', 'loopback'])
    routes = [route(container, await listen('a'))]
    ports.refresh()
    await expect.poll(() => ask(granted, '127.0.0.2')).toBe('a')
    await expect.poll(() => ask(other)).toBe('a')
    expect(await ask(other, '127.0.0.2')).toBeUndefined()
  })

  it('is open at all addresses to the network, at none but those of the loopback without it', () => {
    const hostsOf = (reach: 'loopback' | 'network') => reachedHosts[reach].map(({ host }) => host)
    expect([hostsOf('loopback'), hostsOf('network')]).toEqual([
      ['127.0.0.1', '::1'],
      ['0.0.0.0', '::'],
    ])
  })

  it('is listed with those of all containers, with who reaches it, and why it is closed', async () => {
    ports.close()
    const free = [...numbers, await freePort()].toSorted((one, other) => one - other)
    const [first = 0, second = 0, third = 0] = free
    ports = create([`${first}/tcp service=app-a`])
    routes = [
      route(stored('c', `${third}/udp`, { failed: 'it failed' }), 1),
      route(stored('b', `${second}:7`, { wanted: 'stopped' }), 1),
      route(stored('a', `${first}`), await listen('a')),
      route(stored('d', ''), 1),
    ]
    ports.refresh()
    await expect.poll(() => ask(first)).toBe('a')
    expect(ports.all()).toEqual([
      { port: first, protocol: 'tcp', target: first, reach: 'network', problem: null },
      { port: second, protocol: 'tcp', target: 7, reach: 'loopback', problem: 'the container is stopped' },
      { port: third, protocol: 'udp', target: third, reach: 'loopback', problem: 'the container has failed' },
    ])
  })

  it('is nothing that a container without the setting has', () => {
    expect(ports.records(stored('a', ''))).toBeUndefined()
  })
})
