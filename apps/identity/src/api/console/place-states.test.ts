import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { through } from './discovery-stream.ts'
import { addStates } from './place-states.ts'

const selected = new Map([
  ['aa', 100],
  ['bb', -1],
])
const read = async (pieces: readonly string[]) =>
  JSON.parse(await text(through(Readable.from(pieces), addStates(selected))))
const answer = '[["aa",1.5,-2e-7,9],["cc",3,4,9],["bb",-5,6,8]]'
const shown = [
  ['aa', 1.5, -2e-7, 9, 100],
  ['bb', -5, 6, 8, -1],
]

it('gives each selected device its state, and leaves the others out', async () => {
  expect(await read([answer])).toEqual(shown)
})

it('reads it in whatever pieces it comes', async () => {
  for (const size of [1, 2, 7, 20]) {
    const pieces = Array.from({ length: Math.ceil(answer.length / size) }, (_, at) =>
      answer.slice(at * size, (at + 1) * size),
    )
    expect(await read(pieces)).toEqual(shown)
  }
})

it.each(['[]', '', '[["cc",1,2,3]]', '<html>'])('is an empty list for %s', async (body) => {
  expect(await read([body])).toEqual([])
})

it('stores at most one place of an answer that is not a list', async () => {
  const long = Array.from({ length: 50 }, () => '['.repeat(10_000))
  expect(await read([...long, answer])).toEqual(shown)
})

it('ends what it reads when its reader leaves', async () => {
  const source = new Readable({ read() {} })
  const stream = through(source, addStates(selected))
  stream.destroy()
  await new Promise((resolve) => source.once('close', resolve))
  expect(source.destroyed).toBe(true)
})
