/** The bytes that an instance gets of a request, and how fast. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex, PassThrough } from 'node:stream'
import { expect, it, vi } from 'vitest'
import { type BodyFraming, pauseUntilDrained, sendRequest } from './send-request.ts'

class Instance extends Duplex {
  readonly writes: string[] = []
  override _read(): void {}
  override _write(chunk: Buffer, _: unknown, done: () => void): void {
    this.writes.push(chunk.toString('latin1'))
    done()
  }
}
const turns = async () => {
  for (let at = 0; at < 5; at++) await new Promise(setImmediate)
}
const head = 'POST / HTTP/1.1\r\nX: \xe9\r\n\r\n'

function start(body: BodyFraming, instance = new Instance()) {
  const request = new PassThrough()
  let sent = 0
  const socket = instance as unknown as Socket
  sendRequest(request as unknown as IncomingMessage, body, socket, head, () => sent++)
  return { request, instance, sent: () => sent, text: () => instance.writes.join('') }
}

it('without a body it is sent at once', () => {
  const { text, sent, request } = start('none')
  expect([text(), sent(), request.listenerCount('data')]).toEqual([head, 1, 0])
})

it.each<[BodyFraming, string]>([
  ['length', 'abcd'],
  ['chunked', '2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n'],
])('a body of the framing "%s" follows the head', async (framing, expected) => {
  const { request, text, sent, instance } = start(framing)
  request.write('ab')
  await turns()
  expect(sent()).toBe(0)
  request.end('cd')
  await turns()
  expect(text()).toBe(head + expected)
  expect(sent()).toBe(1)
  expect(instance.writes[0]!.startsWith(head)).toBe(true)
})

it('the head does not wait for a body that comes later', async () => {
  const { request, text } = start('length')
  await turns()
  expect(text()).toBe(head)
  request.end('a')
  await turns()
  expect(text()).toBe(`${head}a`)
})

it('an empty body is a head alone', async () => {
  const { request, text, sent } = start('length')
  request.end()
  await turns()
  expect([text(), sent()]).toEqual([head, 1])
  const chunked = start('chunked')
  chunked.request.end()
  await turns()
  expect(chunked.text()).toBe(`${head}0\r\n\r\n`)
})

it.each([8192, 8193])('a part of %i bytes is the same bytes', async (size) => {
  const bytes = Buffer.alloc(size, 0xe9)
  for (const framing of ['length', 'chunked'] as const) {
    const { request, text, instance } = start(framing)
    request.write(bytes)
    request.end(bytes)
    await turns()
    const part = bytes.toString('latin1')
    const chunk = `${size.toString(16)}\r\n${part}\r\n`
    expect(text()).toBe(head + (framing === 'length' ? part + part : `${chunk}${chunk}0\r\n\r\n`))
    // Small parts are written together with what comes before them.
    const [first] = instance.writes
    expect(first).toBe(size > 8192 ? head : head + (framing === 'length' ? part : chunk))
    expect(instance.writes).not.toContain('')
  }
})

it('writes text as single bytes, with no byte more', async () => {
  for (const size of [1, 9000]) {
    const { request, instance } = start('chunked')
    const write = vi.spyOn(instance, 'write')
    request.end('a'.repeat(size))
    await turns()
    const texts = write.mock.calls.filter(([chunk]) => typeof chunk === 'string')
    expect(texts.length).toBeGreaterThan(0)
    for (const call of texts) expect([call[0] === '', call[1]]).toEqual([false, 'latin1'])
  }
})

it('nothing is written to an instance that is gone', async () => {
  for (const framing of ['length', 'chunked'] as const) {
    const { request, instance } = start(framing)
    instance.destroy()
    const write = vi.spyOn(instance, 'write')
    request.write('a'.repeat(9000))
    request.end('b')
    await turns()
    expect(write).not.toHaveBeenCalled()
  }
})

it('is read no faster than the instance reads it', async () => {
  const waiting: (() => void)[] = []
  class Slow extends Instance {
    override _write(chunk: Buffer, encoding: unknown, done: () => void): void {
      super._write(chunk, encoding, () => waiting.push(done))
    }
  }
  const { request } = start('length', new Slow({ highWaterMark: 10 }))
  request.write('x'.repeat(100))
  await turns()
  expect(request.isPaused()).toBe(true)
  for (let at = 0; at < 5; at++) {
    for (const done of waiting.splice(0)) done()
    await turns()
  }
  expect(request.isPaused()).toBe(false)
})

it('a request continues when what it waits for is gone, and leaves no listener', async () => {
  const request = new PassThrough()
  const instance = new Instance()
  pauseUntilDrained(request as unknown as IncomingMessage, instance)
  expect(request.isPaused()).toBe(true)
  instance.destroy()
  await turns()
  expect(request.isPaused()).toBe(false)
  expect([instance.listenerCount('drain'), instance.listenerCount('close')]).toEqual([0, 0])
})

it('what fails while a body is sent ends the connection', async () => {
  const instance = new Instance()
  const request = new PassThrough()
  sendRequest(request as unknown as IncomingMessage, 'length', instance as unknown as Socket, head, () => {
    throw new Error('a defect')
  })
  request.end('a')
  await turns()
  expect(instance.destroyed).toBe(true)
})
