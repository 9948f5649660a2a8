import { expect, it } from 'vitest'
import { growthOf, linear } from '../../../../tests/harness/cpu.ts'
import { createNeutral } from './neutral.ts'

const secret = 'Zk3vR8qL/mT2w+"quoted"'
const { text, value } = createNeutral('/home/ada', [secret, 'short'])

it.each([
  ['as it is', secret],
  ['in base64', Buffer.from(secret).toString('base64')],
  ['in base64url', Buffer.from(secret).toString('base64url')],
  ['in hexadecimal digits', Buffer.from(secret).toString('hex').toUpperCase()],
  ['in a URL', encodeURIComponent(secret)],
  ['in JSON', JSON.stringify({ secret })],
  ['between control sequences', `${secret.slice(0, 5)}\u001b[0m${secret.slice(5)}`],
])('removes a known secret %s', (_, form) => {
  const shown = JSON.stringify(value({ a: [`before ${form} after`], [form]: 1 }))
  expect(shown).toContain('redacted')
  for (const part of [secret.slice(0, 12), form.slice(0, 12)])
    if (part !== '{"secret":"Z') expect(shown).not.toContain(part)
})

it('removes e-mail addresses and the home folder, and keeps short words', () =>
  expect(text('ada@example.com and <b.c@d.example> in /home/ada/x: short')).toBe(
    '<e-mail> and <<e-mail>> in ~/x: short',
  ))

it('removes control sequences, and keeps every text on its line', () =>
  expect(text('a\u001b[2Jb\nc\u202ed\u0007')).toBe('ab cd'))

it('is bounded: length of texts, members and depth', () => {
  let deep: unknown = 'x'
  for (let level = 0; level < 100; level++) deep = { deep, many: Array(1000).fill('y'.repeat(5000)) }
  const shown = JSON.stringify(value(deep))
  expect(shown.length).toBeLessThan(8 * 300 * 1100)
  const wide = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [at, Array(300).fill(['x', 'y'])]))
  expect(JSON.stringify(createNeutral('', []).value(wide)).match(/"x"/g)!.length).toBeLessThan(50_000)
  expect(shown).not.toContain('"x"')
})

it('finds e-mail addresses in linear time', async () => {
  const longOf = (count: number) => 'a.'.repeat(count) + '@'.repeat(count)
  expect(await growthOf(5000, longOf, text)).toBeLessThan(linear)
})
