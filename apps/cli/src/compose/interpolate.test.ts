// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of Compose files
import { expect, it } from 'vitest'
import { fc } from '../../../../tests/harness/properties.ts'
import { interpolate, VariableError } from './interpolate.ts'
import { composeLimits } from './limits.ts'

const values: Readonly<Record<string, string>> = { A: 'one', EMPTY: '', B: '$A', __proto__x: 'x' }
const unset: string[] = []
const variables = {
  get: (name: string) => (Object.hasOwn(values, name) ? values[name] : undefined),
  onUnset: (name: string) => unset.push(name),
}
const read = (text: string) => interpolate(text, variables)

it.each([
  ['$A and ${A}', 'one and one'],
  ['$$A $$', '$A $'],
  ['${A:-x}${A-x}', 'oneone'],
  ['${EMPTY:-x}|${EMPTY-x}', 'x|'],
  ['${NO:-x}|${NO-x}|${NO:-}', 'x|x|'],
  ['${A:+x}|${A+x}|${EMPTY:+x}|${EMPTY+x}|${NO+x}', 'x|x||x|'],
  ['${NO:-${EMPTY:-${A}}}', 'one'],
  ['${NO:-a}b}', 'ab}'],
  ['${NO:-$${x}', '${x'],
  ['${A:?must}${EMPTY?must}', 'one'],
  ['$A-b', 'one-b'],
])('replaces variables: %s', (text, expected) => {
  expect(read(text)).toBe(expected)
})

it('does not read the value of a variable for further ones', () => {
  expect(read('$B ${NO:-$B}')).toBe('$A $A')
})

it('names a variable that is not set, and has an empty text for it', () => {
  unset.length = 0
  expect(read('x${NO}y$constructor')).toBe('xy')
  expect(unset).toEqual(['NO', 'constructor'])
})

it.each([
  ['${NO:?set it to ${A}}', /NO is not set: set it to one\. Set it in the environment/],
  ['${EMPTY:?}', /EMPTY is empty\. Set it/],
  ['${', /"\$\{" is not a variable/],
  ['${}', /is not a variable/],
  ['${A', /is not a variable/],
  ['${A!x}', /is not a variable/],
  ['$1', /"\$1" is not a variable/],
  ['cost: 5$', /is not a variable\. Write .* \$\$ for a dollar sign/],
  ['${A-B}${a b}', /is not a variable/],
])('refuses %s', (text, message) => {
  expect(() => read(text)).toThrow(message)
  expect(() => read(text)).toThrow(VariableError)
})

it('has a limit of variables in the defaults of each other', () => {
  const nested = (depth: number) => `${'${NO:-'.repeat(depth)}x${'}'.repeat(depth)}`
  expect(read(nested(composeLimits.variableDepth))).toBe('x')
  expect(() => read(nested(composeLimits.variableDepth + 2))).toThrow('in the defaults of each other')
  expect(() => read(nested(20_000))).toThrow('in the defaults of each other')
})

it('has a limit of characters, however many variables make them', () => {
  const long = { ...variables, get: () => 'x'.repeat(1000) }
  expect(interpolate('$A'.repeat(65), long)).toHaveLength(65_000)
  expect(() => interpolate('$A'.repeat(100_000), long)).toThrow('more than 65536 characters')
})

it('leaves every text without a dollar sign as it is, and escapes any other', () => {
  fc.assert(fc.property(fc.string(), (text) => read(text.replaceAll('$', '$$$$')) === text))
})
