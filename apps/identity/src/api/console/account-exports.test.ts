import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { createAccountExports } from './account-exports.ts'

async function* endless() {
  for (;;) yield 'row\n'
}

async function* short() {
  yield 'row\n'
}

const busy = { code: 'temporarily_unavailable', status: 429, retryAfter: 10 }

test('an account has a maximum of exports under way, and other accounts are not affected', async () => {
  const begin = createAccountExports(2)
  const open = [begin('a', endless()), begin('a', endless())]
  expect(() => begin('a', short())).toThrow(expect.objectContaining(busy))
  expect(await text(begin('b', short()))).toBe('row\n')
  for (const stream of open) stream.destroy()
})

test('an export that is complete, or that its client left, makes room', async () => {
  const begin = createAccountExports(1)
  expect(await text(begin('a', short()))).toBe('row\n')
  const left = begin('a', endless())
  left.destroy()
  await new Promise((resolve) => left.once('close', resolve))
  expect(await text(begin('a', short()))).toBe('row\n')
})
