import { expect, it } from 'vitest'
import { quote } from './quote.ts'

it.each([
  ['edge:mcm', '"edge:mcm"'],
  ['', '""'],
  ['a b ~', '"a b ~"'],
  ['a"b\\c', '"a?b?c"'],
  ['a\nb\u007Fé', '"a?b??"'],
  ['a'.repeat(61), `"${'a'.repeat(60)}"`],
])('%j in a message is %s', (text, quoted) => {
  expect(quote(text)).toBe(quoted)
})
