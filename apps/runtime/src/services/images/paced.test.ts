import { describe, expect, it } from 'vitest'
import { paced, within } from './paced.ts'

const pace = { windowMs: 50, minBytes: 1000, totalMs: 60_000 }
const never = Promise.withResolvers<void>().promise
const refuse = (why: string) => new Error(why)
const read = async (content: AsyncIterable<Uint8Array>, more: Partial<typeof pace> = {}) => {
  let bytes = 0
  for await (const chunk of paced(content, { ...pace, ...more }, refuse)) bytes += chunk.length
  return bytes
}

describe('content that arrives', () => {
  it('passes unchanged, and ends with its source', async () => {
    async function* quick() {
      yield Buffer.from('ab')
      yield Buffer.from('c')
    }
    expect(await read(quick())).toBe(3)
    let isClosed = false
    async function* watched() {
      try {
        yield Buffer.from('ab')
        yield Buffer.from('c')
      } finally {
        isClosed = true
      }
    }
    for await (const _ of paced(watched(), pace, refuse)) break
    await expect.poll(() => isClosed).toBe(true)
  })

  it('is refused when it stops, also if its source never ends', async () => {
    async function* stopping() {
      yield Buffer.alloc(10_000)
      await never
    }
    await expect(read(stopping())).rejects.toThrow('fewer than 1000 bytes came within 0.05 s')
  })

  it('is refused when fewer bytes come than the pace requires, however often they come', async () => {
    async function* dripping() {
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, 5))
        yield Buffer.alloc(1)
      }
    }
    await expect(read(dripping())).rejects.toThrow('fewer than 1000 bytes')
  })

  it('is refused when it is not complete in time, however fast it comes', async () => {
    async function* endless() {
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve))
        yield Buffer.alloc(2000)
      }
    }
    await expect(read(endless(), { totalMs: 36 })).rejects.toThrow('it did not arrive within 0.00001 hours')
  })
})

it('a promise that does not resolve in time is refused', async () => {
  await expect(within(never, 10, () => new Error('late'))).rejects.toThrow('late')
  expect(await within(Promise.resolve(1), 60_000, () => new Error('late'))).toBe(1)
})
