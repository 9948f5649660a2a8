import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { readSpec } from './read-spec.ts'

const owner = { client_id: 'c-1' }
const read = (body: unknown) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return readSpec(Object.assign(Readable.from([Buffer.from(text)]), { headers: {} }) as never, owner)
}

it.each([
  { name: 'a', image: 'i' },
  { name: 'a', image: 'i', env: {} },
  { name: 'a', image: 'i', clientId: 'c-1', id: 'c-1-a', state: 'started' },
  { name: 'a', image: 'i', imageId: 'c-1-i', id: 'a', state: 'running' },
])('the body %j deploys an image under a name', async (body) => {
  expect(await read(body)).toEqual({ name: 'a', image: 'i', env: {} })
})

it('the ID of an image names it as well as its name does', async () => {
  expect(await read({ name: 'a', imageId: 'c-1-i' })).toMatchObject({ image: 'c-1-i' })
  expect(await read({ name: 'a', image: 'i:1.0', imageId: 'c-1-i' })).toMatchObject({ image: 'i:1.0' })
})

it.each([
  [
    { name: 'a', image: 'i', clientId: 'c-2' },
    'clientId: "c-2" contradicts the token; leave it out, or send "c-1"',
  ],
  [{ name: 'a', image: 'i', id: 'c-2-a' }, 'id: "c-2-a" contradicts the name and the token'],
  [{ name: 'a', image: 'i', id: 'c-1-b' }, 'or send "c-1-a" or "a"'],
  [{ name: 'a', image: 'i', state: 'stopped' }, 'state: "stopped" contradicts a deployment'],
  [
    { name: 'a', image: 'i:1', imageId: 'c-1-i:2' },
    'imageId: "c-1-i:2" contradicts "image"; leave it out, or send "i:1"',
  ],
  [
    { name: 'a', image: 'i', imageId: 'c-1-j' },
    'imageId: "c-1-j" contradicts "image"; leave it out, or send "i"',
  ],
  [{ name: 'a' }, 'image: it is missing; expected'],
  [{ image: 'i' }, 'name: '],
  [{ name: 'a', image: 'i', ports: [] }, 'ports'],
  [{ name: 'a', image: 'i', id: 'x'.repeat(401) }, 'id: '],
  ['{"name":"a","name":"b","image":"i"}', 'two members of the same name'],
])('the body %j is refused with what is wrong', async (body, message) => {
  await expect(read(body)).rejects.toMatchObject({
    reason: 'invalid_params',
    message: expect.stringContaining(message as string),
  })
})
