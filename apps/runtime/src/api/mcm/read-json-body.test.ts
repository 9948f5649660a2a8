/** Bodies of strangers: strict JSON, of a limited size, and whole. */
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { readJsonBody } from './read-json-body.ts'

function read(body: string, { limit = 100, isWhole = true } = {}) {
  const request = new IncomingMessage(new Socket())
  const result = readJsonBody(request, limit)
  request.push(body)
  if (isWhole) {
    request.complete = true
    request.push(null)
  } else request.destroy()
  return result
}

it('a body is read as JSON', async () => {
  expect(await read('{"a":[1,"ü"]}')).toEqual({ a: [1, 'ü'] })
  expect(await read('[1]', { limit: 3 })).toEqual([1])
})

it.each(['', '{', '{"a":1,"a":2}', 'x'])('%j is no strict JSON', async (body) => {
  await expect(read(body)).rejects.toMatchObject({
    reason: 'invalid_params',
    message: expect.stringMatching(/^the body is not strict JSON: ./),
  })
})

it('a body that is too large, or cut short, is refused', async () => {
  await expect(read('[12]', { limit: 3 })).rejects.toMatchObject({
    reason: 'limit_exceeded',
    message: 'the body is larger than 3 bytes',
  })
  await expect(read('[1', { isWhole: false })).rejects.toMatchObject({
    reason: 'invalid_params',
    message: 'the body was cut short',
  })
})
