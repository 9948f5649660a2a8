/** Content stays on the disk while any work needs it. */
import { expect, it } from 'vitest'
import { createContentInUse } from './content-in-use.ts'

type Held = Parameters<ReturnType<typeof createContentInUse>['hold']>[0]
const content = (digest: string) => ({ config: { digest } }) as unknown as Held[number]

it('content is in use until its work is complete, and then is released', async () => {
  const released: unknown[] = []
  const { hold, all } = createContentInUse((contents) => released.push(contents))
  expect(all()).toEqual({})
  const [one, two] = [content('1'), content('2')]
  let finish: (value: string) => void = () => undefined
  const work = hold([one, two], () => new Promise<string>((resolve) => void (finish = resolve)))
  const given = [one]
  let fail: (cause: Error) => void = () => undefined
  const other = hold(given, () => new Promise((_, reject) => void (fail = reject)))
  given.push(two)
  expect(all()).toEqual({ 1: one, 2: two })
  finish('done')
  expect(await work).toBe('done')
  expect(released).toEqual([[one, two]])
  // Other work still uses it, and not what was added to its list later.
  expect(all()).toEqual({ 1: one })
  fail(new Error('x'))
  await expect(other).rejects.toThrow('x')
  expect([all(), released[1]]).toEqual([{}, [one]])
})
