/** A refused upgrade is answered, and its connection ends. */
import type { IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import { afterEach, expect, it, vi } from 'vitest'
import { refuseUpgrade } from './refuse-upgrade.ts'

afterEach(() => void vi.useRealTimers())

class Client extends Duplex {
  written = ''
  isEnded = false
  override _read(): void {}
  override _write(chunk: Buffer, _: unknown, done: () => void): void {
    this.written += chunk
    done()
  }
  override _final(done: () => void): void {
    this.isEnded = true
    done()
  }
}
const request = { rawHeaders: ['X-Request-Id', 'r-1'], headers: { 'x-request-id': 'r-1' } } as unknown
const refuse = (client: Client, status: number, headers?: readonly string[]) =>
  refuseUpgrade(request as IncomingMessage, client, { status, reason: 'busy', message: 'später' }, headers)

it('with its status, its reason, and the ID of the request', async () => {
  const client = new Client()
  refuse(client, 503, ['DPoP-Nonce: n'])
  await new Promise(setImmediate)
  const [head, body] = client.written.split('\r\n\r\n')
  const lines = head!.split('\r\n')
  expect(lines[0]).toBe('HTTP/1.1 503 Refused')
  expect(lines).toContain('Connection: close')
  expect(lines).toContain('DPoP-Nonce: n')
  expect(lines).toContain('Content-Type: application/json')
  expect(lines).toContain(`Content-Length: ${Buffer.byteLength(body!)}`)
  expect(lines.filter((each) => /^Retry-After: \d+$/.test(each))).toHaveLength(1)
  expect(lines.filter((each) => /^X-Request-Id: ./.test(each))).toHaveLength(1)
  expect(JSON.parse(body!)).toEqual({ error: { code: 503, message: 'später', reason: 'busy' } })
  expect(client.isEnded).toBe(true)
  // What the client sends is read, and dropped.
  expect(client.readableFlowing).toBe(true)
})

it('without a time to come back where the status is not that of an overload', async () => {
  const client = new Client()
  refuse(client, 401)
  await new Promise(setImmediate)
  const lines = client.written.split('\r\n\r\n')[0]!.split('\r\n')
  expect(lines.map((each) => each.split(':')[0])).toEqual([
    'HTTP/1.1 401 Refused',
    'Connection',
    'X-Request-Id',
    'Content-Type',
    'Content-Length',
  ])
})

it('a client that does not close is closed after two seconds', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const client = new Client()
  refuse(client, 401)
  vi.advanceTimersByTime(1999)
  expect(client.destroyed).toBe(false)
  vi.advanceTimersByTime(1)
  expect(client.destroyed).toBe(true)
})

it('a client that closes leaves no timer, and one that fails no error', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const client = new Client()
  refuse(client, 401)
  client.destroy(new Error('reset'))
  await new Promise(setImmediate)
  expect(vi.getTimerCount()).toBe(0)
})
