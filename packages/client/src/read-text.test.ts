import { expect, it } from 'vitest'
import { readText, tooLarge } from './read-text.ts'

/** A body in parts, which notes how many were read and whether the rest was given up. */
function bodyOf(...parts: readonly Uint8Array[]) {
  const seen = { read: 0, isCancelled: false }
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const part = parts[seen.read++]
        if (part) controller.enqueue(part)
        else controller.close()
      },
      cancel() {
        seen.isCancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { seen, answer: { body, text: () => expect.unreachable() } }
}
const bytes = (text: string) => new TextEncoder().encode(text)

it('a body is read as text, also where a part ends inside of a character', async () => {
  const whole = bytes('aü€')
  for (let at = 0; at <= whole.length; at++)
    expect(await readText(bodyOf(whole.subarray(0, at), whole.subarray(at)).answer, 6)).toBe('aü€')
})

it('a body that ends inside of a character ends with a replacement of it', async () => {
  expect(await readText(bodyOf(bytes('€').subarray(0, 2)).answer, 6)).toBe('\ufffd')
})

it('a body of more bytes than the limit is refused, and its rest not read', async () => {
  expect(await readText(bodyOf(bytes('abc'), bytes('def')).answer, 6)).toBe('abcdef')
  const { seen, answer } = bodyOf(bytes('abc'), bytes('def'), bytes('g'), bytes('h'))
  const read = readText(answer, 6)
  await expect(read).rejects.toMatchObject({ message: 'the answer is larger than 6 bytes', code: tooLarge })
  expect(seen).toEqual({ read: 3, isCancelled: true })
})

it('an answer without a stream has a limit of its own', async () => {
  const text = async () => 'text'
  expect(await readText({ text }, 1)).toBe('text')
  expect(await readText({ body: null, text }, 1)).toBe('text')
})
