/** No time limit of Vitest ends this file: a test blocks its thread for ever. */
import { expect, it } from 'vitest'

it('passes', () => {
  expect(1).toBe(1)
})

it('blocks its thread', () => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
