/** `selvedge watch`: the state and its changes, over restarts of the runtime, until Ctrl-C. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { RpcFailure } from '@selvedge/client'
import { watchEvents } from '@selvedge/client/node'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { cliPath } from '../../harness/cli.ts'
import { type Services, startServices } from '../../harness/services.ts'

let services: Services
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services?.stop())

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** Runs the command until the test ends it. */
function watch(args: readonly string[], url = services.url()) {
  const child = spawn(process.execPath, [cliPath, 'watch', ...args, '--url', url], {
    env: { PATH: process.env.PATH, SELVEDGE_ACCESS_TOKEN: services.token },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  const ran = { out: '', errors: '' }
  child.stdout!.setEncoding('utf8').on('data', (chunk) => {
    ran.out += chunk
  })
  child.stderr!.setEncoding('utf8').on('data', (chunk) => {
    ran.errors += chunk
  })
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  return { ran, child, exited }
}

const updateGps = (latitude: string) =>
  services
    .runtime()
    .updateGps({ edgeAccessToken: services.token, longitude: '1', latitude, speed: '0', bearing: '0' })

const eventsOf = (out: string) =>
  out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { topic: string; data: { latitude?: string } | null })

it('shows each change as one JSON object a line, connects again, and ends with Ctrl-C', async () => {
  const { ran, child, exited } = watch(['fixes', 'clock', '--json'])
  await expect.poll(() => eventsOf(ran.out).length).toBe(2)
  await updateGps('10')
  await expect.poll(() => ran.out).toContain('"latitude":"10"')
  await services.restart()
  await expect.poll(() => ran.errors).toContain('connecting again')
  const { length } = ran.out
  await expect.poll(() => ran.out.slice(length)).toContain('"latitude":"10"')
  await updateGps('11')
  await expect.poll(() => ran.out).toContain('"latitude":"11"')
  expect(new Set(eventsOf(ran.out).map(({ topic }) => topic))).toEqual(new Set(['fixes', 'clock']))
  child.kill('SIGINT')
  expect(await exited).toBe(0)
})

it('shows all topics as lines for people', async () => {
  const { ran, child, exited } = watch([])
  await updateGps('12')
  for (const line of [
    /^account +\S+ confirmed$/m,
    /^fixes +12, 1 {2}0 m\/s/m,
    /^containers +-$/m,
    /^clock +trusted$/m,
    /^notices +-$/m,
    /^connectivity the identity service answers$/m,
    /^nodes +1 of 1 of the account are online$/m,
  ])
    await expect.poll(() => ran.out).toMatch(line)
  child.kill('SIGINT')
  expect(await exited).toBe(0)
})

it('refuses an unknown topic, and ends with the reason when the runtime refuses it', async () => {
  const unknown = watch(['passwords'])
  expect(await unknown.exited).toBe(2)
  expect(unknown.ran.errors).toContain('there is no topic "passwords"')
  const nowhere = watch(['clock'], 'http://127.0.0.1:9')
  expect(await nowhere.exited).toBe(3)
})

it('gives programs typed events, and the reason as an error', async () => {
  const connection = { url: services.url(), edgeAccessToken: services.token }
  const stop = new AbortController()
  for await (const { topic, data } of watchEvents(connection, ['clock'], stop)) {
    expect({ topic, state: data.state }).toEqual({ topic: 'clock', state: 'trusted' })
    stop.abort()
  }
  const refused = watchEvents({ ...connection, edgeAccessToken: 'not a token' }, ['clock']).next()
  await expect(refused).rejects.toThrow(RpcFailure)
})

/** A runtime of an attacker: it sends this text for each request. */
async function lying(text: string): Promise<{ url: string; server: Server }> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(text)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

it.each([
  [
    'lines of a log',
    { topic: 'logs', data: [{ id: 'x', time: '2026-01-01T00:00:00.000Z', stream: 'stdout', text: '' }] },
  ],
  [
    'names of containers',
    { topic: 'containers', data: [{ name: '', state: 'running', health: 'unknown', reason: '' }] },
  ],
])('shows foreign text without its control sequences: %s', async (_, event) => {
  const attack = 'FORGED\u001b]52;c;eA==\u0007\u001b[2J\r\nclock        trusted'
  const text = JSON.stringify(event, (name, value) =>
    ['text', 'name', 'reason'].includes(name) ? attack : value,
  )
  for (const args of [[], ['--json']]) {
    const { server, url } = await lying(`event: ${event.topic}\ndata: ${text}\n\n`)
    const { ran, child, exited } = watch([...args], url)
    await expect.poll(() => ran.out).toContain('FORGED')
    child.kill('SIGINT')
    expect(await exited).toBe(0)
    server.closeAllConnections()
    server.close()
    expect(ran.out).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/)
    expect(ran.out).not.toMatch(/^clock/m)
  }
})

it('stops reading an event that never ends', async () => {
  const { server, url } = await lying(`event: clock\ndata: ${'x'.repeat(5 * 1024 * 1024)}`)
  const { ran, exited } = watch(['clock'], url)
  expect(await exited).toBe(1)
  expect(ran.errors).toContain('more than 4194304 characters')
  server.closeAllConnections()
  server.close()
})
