/** Changes to JSON texts that leave them JSON: values of other types, members twice, deep nesting, names of Object.prototype. */
import type { Random } from './random.ts'
import type { Mutator } from './target.ts'

const values: readonly ((random: Random) => string)[] = [
  () => 'null',
  () => 'true',
  () => '0',
  () => '-1',
  () => '1e400',
  () => '8640000000000001',
  () => '9007199254740993',
  () => '""',
  () => '[]',
  () => '{}',
  () => '"\\u0000"',
  () => '"\\ud800"',
  () => '"__proto__"',
  () => '{"__proto__":{"a":1}}',
  (random) => JSON.stringify('a'.repeat(random.size(5000))),
  (random) => '['.repeat(random.size(200)) + ']'.repeat(random.size(200)),
  (random) => `[${Array(random.size(200)).fill('0')}]`,
  (random) => `{${Array.from({ length: random.size(100) }, (_, at) => `"k${at}":${at}`)}}`,
]
const names = ['__proto__', 'constructor', 'toString', 'length', '', 'a', 'id', 'then', 'toJSON']

/** Where values and members of a JSON text begin and end, found by its commas, colons and brackets; good enough to cut there. */
function edgesOf(text: string): number[] {
  const edges: number[] = []
  for (const { index } of text.slice(0, 16_384).matchAll(/[{}[\],:]/g)) edges.push(index)
  return edges
}

/** Replaces one value of the text, or adds a member. */
export const mutateJson: Mutator = (input, random) => {
  const text = input.toString()
  const edges = edgesOf(text)
  if (edges.length < 2) return Buffer.from(random.pick(values)(random))
  const at = random.below(edges.length - 1)
  const from = edges[at]! + 1
  const to = edges[at + 1]!
  const isObject = text[edges[at]!] === '{'
  const added = random.oneIn(3)
    ? `${JSON.stringify(random.pick(names))}:${random.pick(values)(random)}${text[from] === '}' ? '' : ','}`
    : undefined
  if (isObject && added !== undefined) return Buffer.from(text.slice(0, from) + added + text.slice(from))
  // The same member again, which two readers may understand differently.
  if (random.oneIn(4)) return Buffer.from(`${text.slice(0, to)},${text.slice(from)}`)
  return Buffer.from(text.slice(0, from) + random.pick(values)(random) + text.slice(to))
}
