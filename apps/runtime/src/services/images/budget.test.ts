import { expect, it } from 'vitest'
import { createBudget, measured } from './budget.ts'

it('an image has as many bytes as the limit, and no more', () => {
  const spend = createBudget(10)
  spend(4)
  spend(6)
  expect(() => spend(1)).toThrow('the image unpacks to more than 10 bytes (images.maxSize)')
  expect(() => spend(0)).toThrow(expect.objectContaining({ reason: 'invalid_image' }))
})

it('content is counted before it is passed on', async () => {
  async function* content() {
    yield Buffer.alloc(6)
    yield Buffer.alloc(5)
  }
  const passed: number[] = []
  const pass = async () => {
    for await (const chunk of measured(content(), createBudget(10))) passed.push(chunk.length)
  }
  await expect(pass()).rejects.toThrow('more than 10 bytes')
  expect(passed).toEqual([6])
})
