import { expect, it } from 'vitest'
import { createQueue } from './body.ts'
import { Trap } from './failure.ts'
import { InputStream, maxBufferedBytes, maxPolled, OutputStream, Pollable, poll } from './io.ts'
import { createSlots } from './worker.ts'

const open = () => ({ signal: new AbortController().signal })
const never = (session = open()) =>
  new Pollable(
    session,
    () => false,
    () => new Promise(() => undefined),
  )

it('refuses to poll nothing, and more than the limit', async () => {
  await expect(poll([])).rejects.toBeInstanceOf(Trap)
  await expect(poll(Array.from({ length: maxPolled + 1 }, () => never()))).rejects.toBeInstanceOf(Trap)
})

it('ends what waits when its request is over', async () => {
  const end = new AbortController()
  const waiting = poll([never({ signal: end.signal })])
  end.abort(new Error('over'))
  await expect(waiting).rejects.toThrow('over')
})

it('returns the positions of what is ready', async () => {
  const ready = new Pollable(
    open(),
    () => true,
    () => Promise.resolve(),
  )
  expect([...(await poll([never(), ready]))]).toEqual([1])
})

it('reads what a stream has, in pieces, and is closed after its end', async () => {
  const input = new InputStream(open(), new Blob(['abc']).stream())
  expect(await input.blockingRead(2n)).toEqual(new TextEncoder().encode('ab'))
  expect(await input.blockingRead(2n ** 64n - 1n)).toEqual(new TextEncoder().encode('c'))
  await expect(input.blockingRead(1n)).rejects.toMatchObject({ payload: { tag: 'closed' } })
})

it('accepts no more than its buffer of a body that is not read, and continues when it is', async () => {
  const queue = createQueue(() => undefined)
  const output = new OutputStream(open(), queue)
  output.write(new Uint8Array(maxBufferedBytes))
  expect(output.checkWrite()).toBe(0n)
  expect(() => output.write(new Uint8Array(1))).toThrow(Trap)
  const isReady = output.subscribe().block()
  await queue.stream.getReader().read()
  await isReady
  expect(output.checkWrite()).toBe(BigInt(maxBufferedBytes))
})

it('is closed for a component when its reader leaves', async () => {
  const queue = createQueue(() => undefined)
  const output = new OutputStream(open(), queue)
  output.write(new Uint8Array(1))
  const flushed = output.blockingFlush()
  await queue.stream.cancel()
  await expect(flushed).rejects.toMatchObject({ payload: { tag: 'closed' } })
})

it('refuses a body of another size than its content-length', async () => {
  const long = new OutputStream(
    open(),
    createQueue(() => 2),
  )
  expect(() => long.write(new Uint8Array(3))).toThrow(
    expect.objectContaining({ payload: expect.objectContaining({ tag: 'last-operation-failed' }) }),
  )
  const short = createQueue(() => 2)
  const read = short.stream.getReader().read()
  expect(() => short.finish()).toThrow('shorter')
  await expect(read).rejects.toThrow('content-length')
})

it('gives a slot to the next that waits, and not to one that left', async () => {
  const slots = createSlots(1)
  const { signal } = new AbortController()
  await slots.acquire(signal)
  const end = new AbortController()
  const left = slots.acquire(end.signal)
  const next = slots.acquire(signal)
  end.abort(new Error('left'))
  await expect(left).rejects.toThrow('left')
  slots.release()
  await expect(next).resolves.toBeUndefined()
})
