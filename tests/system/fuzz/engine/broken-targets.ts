/** Parsers with one mistake each, by which the tests see that the fuzzer finds mistakes. */
import { JsonError } from '@selvedge/protocol/jsonrpc'
import { outcomeOf, type Target } from './target.ts'

const seeds = () => [Buffer.from('key=value\n'.repeat(500)), Buffer.from('key=value')]
const kept: Buffer[] = []

const broken = (name: string, parse: (text: string) => unknown, more: Partial<Target> = {}): Target => ({
  name,
  covers: [],
  seeds,
  open: () => ({ parse: (input) => outcomeOf(() => parse(input.toString('latin1')), [JsonError]) }),
  ...more,
})

export const targets: readonly Target[] = [
  broken('sound', (text) => {
    if (!text.startsWith('key')) throw new JsonError('syntax', 'it does not begin with key')
  }),
  broken(
    'throws',
    (text) => {
      if (text.includes('key\0')) throw new TypeError('it is not a function')
    },
    { words: ['key\0'] },
  ),
  broken('rejects', (text) => {
    if (text.startsWith('e')) void Promise.reject(new Error('nobody waits'))
  }),
  broken('quadratic', (text) => /=[^\n]*? *$/m.test(text), {
    words: [' '],
    maxBytes: 8192,
  }),
  broken('hoards', () => {
    kept.push(Buffer.alloc(16 * 1024, 1))
  }),
  broken('endless', (text) => {
    while (text.startsWith('y'));
  }),
  broken('buffers', () => undefined, {
    openStream: () => {
      let rest = ''
      return (chunk) => {
        rest += chunk.toString('latin1')
        if (rest.length < 0) throw new Error(rest)
      }
    },
  }),
]
