/** A part of `npm run pulls`: an image over bad networks into the runtime, and what it costs. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { conditions } from './conditions.ts'
import { pullOver } from './pull.ts'
import { type Puller, startRuntimePuller } from './pullers.ts'

let runtime: Puller
beforeAll(async () => {
  runtime = await startRuntimePuller()
})
afterAll(async () => {
  await runtime?.stop()
})

/** Bytes as a multiple of those of the image; what was in the buffers of a connection when the runtime was killed is sent again. */
it.each<[keyof typeof conditions, number]>([
  ['cuts', 1.01],
  ['withoutRanges', 1.61],
  ['otherBytes', 2.01],
  ['kill', 1.2],
  ['slow', 1.01],
])('an image arrives (%s), with at most %s times its bytes', async (name, most) => {
  const { error, times } = await pullOver(runtime, conditions[name])
  expect(error).toBeUndefined()
  expect(times).toBeLessThan(most)
})
