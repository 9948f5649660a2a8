/** A body is read up to a limit, and a large one only where there is room. */
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { readBody, smallBody } from './body.ts'

function read(limit: number, admitLarge?: () => boolean) {
  const request = new PassThrough({ highWaterMark: 1024 * 1024 })
  const bodies: (string | undefined)[] = []
  readBody(request as unknown as IncomingMessage, limit, (body) => bodies.push(body?.toString()), admitLarge)
  const send = async (...parts: readonly string[]) => {
    for (const part of parts) {
      request.write(part)
      await new Promise(setImmediate)
    }
  }
  const end = async () => {
    request.end()
    await new Promise(setImmediate)
    await new Promise(setImmediate)
  }
  return { request, bodies, send, end }
}

it.each([
  [[], ''],
  [['abc'], 'abc'],
  [['ab', 'c'], 'abc'],
  [['a', 'b', 'c'], 'abc'],
])('is its parts together: %j', async (parts, expected) => {
  const { bodies, send, end } = read(3)
  await send(...parts)
  expect(bodies).toEqual([])
  await end()
  expect(bodies).toEqual([expected])
})

it('that is too large is refused at once, and only once', async () => {
  const { request, bodies, send, end } = read(3)
  await send('ab', 'cd')
  expect(bodies).toEqual([undefined])
  expect([request.listenerCount('data'), request.destroyed]).toEqual([0, false])
  request.resume()
  await send('e')
  await end()
  expect(bodies).toEqual([undefined])
})

it('that is large needs room, and is checked once', async () => {
  let asked = 0
  const { bodies, send, end } = read(10 * smallBody, () => ++asked > 0)
  await send('x'.repeat(smallBody))
  expect(asked).toBe(0)
  await send('x', 'x'.repeat(smallBody))
  expect(asked).toBe(1)
  await end()
  expect(bodies).toEqual(['x'.repeat(2 * smallBody + 1)])
})

it('that is large is refused where there is no room, and read where nothing limits it', async () => {
  const refused = read(10 * smallBody, () => false)
  await refused.send('x'.repeat(smallBody), 'x')
  expect(refused.bodies).toEqual([undefined])
  const plain = read(10 * smallBody)
  await plain.send('x'.repeat(smallBody), 'x')
  await plain.end()
  expect(plain.bodies).toEqual(['x'.repeat(smallBody + 1)])
})

it('what fails with a body ends its request', async () => {
  const request = new PassThrough()
  readBody(request as unknown as IncomingMessage, 10, () => {
    throw new Error('a defect')
  })
  request.end('a')
  await expect.poll(() => request.destroyed).toBe(true)
})
