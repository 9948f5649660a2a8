/** What lasts longer than the token that opened it: an answer without end, a WebSocket, a log that is followed. */
import { connect } from 'node:net'
import { identityPaths } from '@selvedge/protocol'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { accessToken } from '../harness/flow.ts'
import { randomOf } from '../harness/seed.ts'
import { type Services, startServices } from '../harness/services.ts'
import { forge, readIssuerKeys } from './forge.ts'

const random = randomOf('token-ends')

let services: Services
let id: string
let basePath: string

const endless = `export default { fetch(request) {
  const { pathname } = new URL(request.url)
  if (pathname === '/socket') {
    const { socket, response } = Deno.upgradeWebSocket(request)
    socket.onopen = () => setInterval(() => { if (socket.readyState === 1) socket.send('x'.repeat(300)) }, 20)
    return response
  }
  const isEvents = pathname === '/events'
  const text = new TextEncoder().encode(isEvents ? 'data: news\\n\\n' : 'x'.repeat(100))
  let timer
  const body = new ReadableStream({
    start(controller) { timer = setInterval(() => { try { controller.enqueue(text) } catch { clearInterval(timer) } }, 20) },
    cancel() { clearInterval(timer) },
  })
  return new Response(body, { headers: { 'Content-Type': isEvents ? 'text/event-stream' : 'application/octet-stream' } })
} }`

beforeAll(async () => {
  services = await startServices({ args: ['--revocations.interval=1'] })
  const env = { 'MCM.IDLE_SEC': '0' }
  ;({ id, basePath } = await services.deploy('endless', endless, env))
  await services.deploy('open', endless, { ...env, 'MCM.ACCESS': 'public' })
})
afterAll(() => services?.stop())

/** Opens a connection and reads until it ends. */
function open(path: string, token: string, headers = 'Connection: close') {
  const { port, host } = new URL(services.url())
  const socket = connect(Number(port), '127.0.0.1')
  let text = ''
  let isEnded = false
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => undefined)
  socket.on('close', () => {
    isEnded = true
  })
  const authorization = token === '' ? '' : `Authorization: Bearer ${token}\r\n`
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${authorization}${headers}\r\n\r\n`)
  return { text: () => text, isEnded: () => isEnded, close: () => socket.destroy() }
}

const handshake =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='

/** Everything that lasts, opened with a token. */
const openAll = (token: string) => ({
  download: open(`${basePath}/download`, token),
  events: open(`${basePath}/events`, token),
  socket: open(`${basePath}/socket`, token, handshake),
  log: open(`/mcm/v1/containers/${id}/logs?follow=true`, token),
})
type Opened = ReturnType<typeof openAll>

const begun = (opened: Opened) => () =>
  Object.values(opened).every(({ text }) => /^HTTP\/1.1 (200|101) /.test(text()))

async function expectEnded(opened: Opened, reason: string): Promise<void> {
  const states = () =>
    Object.fromEntries(Object.entries(opened).map(([name, each]) => [name, each.isEnded()]))
  await expect.poll(states).toEqual({ download: true, events: true, socket: true, log: true })
  // A download is cut: its last chunk does not come, so that it does not look whole.
  expect(opened.download.text()).not.toMatch(/0\r\n\r\n$/)
  expect(opened.events.text()).toMatch(new RegExp(`event: selvedge-end\\ndata: {"reason":"${reason}"`))
  expect(opened.log.text()).toContain(`"stream":"runtime","text":"this log ends here: ${reason}`)
  // A close frame with the status 1008, at the end and at the beginning of a frame.
  expect(opened.socket.text().slice(-125)).toMatch(new RegExp(`\\x88.\\x03\\xf0${reason}`, 's'))
  const frames = opened.socket.text().split('\r\n\r\n')[1]!
  // Whole frames, pings of the service among them, and the close frame behind them.
  expect(frames.replaceAll('\x89\x00', '').replaceAll(`\x81~\x01\x2c${'x'.repeat(300)}`, '')).toMatch(/^\x88/)
}

const short = (payload: object) =>
  forge(
    services.token,
    { name: '', payload: payload as never, expect: '' },
    readIssuerKeys(services.stack.state),
  )

describe('what lasts longer than its token', () => {
  let opened: Opened
  let other: Opened
  beforeEach(() => {
    other = openAll(services.token)
    return () => {
      for (const each of [...Object.values(other), ...Object.values(opened)]) each.close()
    }
  })
  const expectOthersGoOn = () =>
    expect(Object.values(other).map(({ isEnded }) => isEnded())).toEqual([false, false, false, false])

  it('ends when the token expires', async () => {
    // A minute of leeway, less five seconds.
    opened = openAll(short({ iat: '$now-3600', exp: '$now-55', jti: random.bytes(16).toString('hex') }))
    await expect.poll(begun(opened)).toBe(true)
    await expectEnded(opened, 'token_expired')
    expectOthersGoOn()
  })

  it('ends when the token is revoked', async () => {
    const { developer, stack } = services
    const token = await accessToken(stack, developer)
    opened = openAll(token)
    await expect.poll(begun(opened)).toBe(true)
    const revoked = await fetch(stack.identity.url + identityPaths.revoke, {
      method: 'POST',
      body: new URLSearchParams({ token, client_id: developer.clientId }),
    })
    expect(revoked.status).toBe(200)
    await expectEnded(opened, 'token_revoked')
    expectOthersGoOn()
  })

  it('ends when the account leaves, of a public service too', async () => {
    opened = openAll(services.token)
    const anyone = open(`/${services.developer.clientId}/open/events`, '')
    await expect.poll(begun(opened)).toBe(true)
    await expect.poll(anyone.text).toContain('news')
    await services.runtime().unassociateAccount({ edgeAccessToken: services.token })
    await expectEnded(opened, 'token_revoked')
    await expect.poll(anyone.isEnded).toBe(true)
    expect(anyone.text()).toContain('{"reason":"not_associated"')
  })
})
