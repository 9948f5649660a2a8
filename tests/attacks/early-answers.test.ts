/** Uploads that are refused before they have arrived: the command line shows the reason of the server. */
import { once } from 'node:events'
import { truncateSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cliEnvOf } from '../harness/cli.ts'
import { runCliHere } from '../harness/cli-here.ts'
import { type Services, startServices } from '../harness/services.ts'

const megabyte = 1024 * 1024

let services: Services
let archive: string
beforeAll(async () => {
  services = await startServices({ args: [`--images.maxSize=${16 * megabyte}`] })
  archive = join(services.stack.state, 'large.tar')
  writeFileSync(archive, 'no archive')
  truncateSync(archive, 64 * megabyte)
})
afterAll(() => services?.stop())

const deploy = (token: string, ...more: readonly string[]) =>
  runCliHere(['image', 'deploy', archive, ...more], {
    ...cliEnvOf(services.stack),
    SELVEDGE_ACCESS_TOKEN: token,
  })

it.each([
  ['a wrong token', () => 'a.b.c', 4, /token/],
  ['a file that is too large and not an archive', () => services.token, 1, /archive|image|bytes/],
])('by the runtime, for %s', async (_, token, code, reason) => {
  for (const more of [[], ['--url', services.url()]]) {
    const ran = await deploy(token(), ...more)
    expect(ran).toMatchObject({ code, errors: expect.stringMatching(reason) })
    expect(ran.errors).not.toMatch(/EPIPE|ECONNRESET|hang up|nothing answers|not running/i)
  }
  expect((await services.runtime().getMe()).nodeId).not.toBe('')
})

it('by a server that answers the headers and closes the connection', async () => {
  const body = JSON.stringify({ error: { code: 507, reason: 'storage_full', message: 'the disk is full' } })
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    const answer = `HTTP/1.1 507 Full\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
    socket.once('data', () => socket.end(answer, () => socket.destroy()))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const ran = await deploy('x', '--url', `http://127.0.0.1:${port}`)
  expect(ran).toMatchObject({ code: 1, errors: expect.stringContaining('the disk is full') })
  server.close()
})
