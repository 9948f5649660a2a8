import { expect, it } from 'vitest'
import { createLastOutput } from './last-output.ts'

const explain = (...lines: readonly (readonly ['stdout' | 'stderr' | 'runtime', string])[]) => {
  const output = createLastOutput(() => undefined, undefined)
  for (const [stream, text] of lines) output.log(stream, text)
  return output.explain('it stopped')
}

it('explains an end with the last five lines of each stream, and passes all on', () => {
  const logged: string[] = []
  const output = createLastOutput((stream, text) => void logged.push(`${stream} ${text}`), undefined)
  for (let at = 1; at <= 7; at++) {
    output.log('stdout', `out ${at}`)
    output.log('stderr', `err ${at}`)
  }
  expect(logged).toHaveLength(14)
  expect(output.explain('it stopped')).toBe(
    'it stopped: err 3 | err 4 | err 5 | err 6 | err 7 | out 3 | out 4 | out 5 | out 6 | out 7',
  )
  expect(output.errors()).toEqual(['err 3', 'err 4', 'err 5', 'err 6', 'err 7'])
})

it('leaves out empty lines and lines of the runtime', () => {
  expect(explain(['stderr', ''], ['stdout', ' '], ['runtime', 'started'])).toBe('it stopped')
  expect(explain(['stderr', 'fatal'], ['stderr', ''], ['stderr', ''])).toBe('it stopped: fatal')
})

it('leaves out the calls of a stack trace', () => {
  const trace = [
    'Error: no sensor',
    ...Array.from({ length: 9 }, (_, at) => `    at call${at} (index.js:${at})`),
  ]
  expect(explain(['stderr', 'fatal'], ...trace.map((line) => ['stderr', line] as const))).toBe(
    'it stopped: fatal | Error: no sensor',
  )
})

it('contains the last line, however long the lines before it are', () => {
  const long = 'x'.repeat(8192)
  expect(explain(['stderr', long], ['stderr', 'a'], ['stderr', 'fatal'])).toBe('it stopped: a | fatal')
  expect(explain(['stderr', 'a'], ['stdout', long], ['stderr', 'fatal'])).toBe(
    `it stopped: a | fatal | ${'x'.repeat(500)}`,
  )
})
