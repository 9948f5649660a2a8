import { expect, it } from 'vitest'
import { createLog } from './log.ts'
import { prettyLine } from './pretty-line.ts'

it('a pretty line is for a person, and has neither secrets nor control sequences', () => {
  const lines: string[] = []
  const options = { service: 'identity', level: 'info', now: () => 0, format: 'pretty' } as const
  const log = createLog(options, (line) => lines.push(line))
  const cause = new Error('no \u001b[2J token=abcdef123456')
  log.error('a request failed', {
    errorId: 'e-1',
    path: 'a "b"\n\u202eERROR forged',
    token: 'secret-1',
    cause,
  })
  log.debug('not shown')
  const [text = ''] = lines
  expect(lines).toHaveLength(1)
  expect(text.split('\n')[0]).toMatch(
    /^00:00:00\.000 .*ERROR.* identity a request failed errorId=e-1 path="a \\"b\\"\\n\\u202eERROR forged" token=<token>$/,
  )
  expect(text.split('\n')[1]).toMatch(/^ {4}Error: no /)
  expect(
    text
      .split('\n')
      .slice(1)
      .every((line) => line.startsWith('    ')),
  ).toBe(true)
  expect(text).not.toMatch(/secret-1|abcdef123456|\u202e|\u001b\[2J/)
})

const line = (more: object) =>
  JSON.stringify({
    ...{ time: '2026-01-02T03:04:05.678Z', level: 'info', service: 'runtime', message: 'it runs' },
    ...more,
  })

it.each([
  ['debug', '90', 'DEBUG'],
  ['info', '36', 'INFO '],
  ['warn', '33', 'WARN '],
  ['error', '31', 'ERROR'],
])('the level %s has a colour on a terminal, and no colour elsewhere', (level, colour, shown) => {
  expect(prettyLine(line({ level }), true)).toBe(
    `03:04:05.678 \u001b[${colour}m${shown}\u001b[0m runtime it runs`,
  )
  expect(prettyLine(line({ level }), false)).toBe(`03:04:05.678 ${shown} runtime it runs`)
})

it.each<[unknown, string]>([
  ['word', 'word'],
  ['two words', 'two words'],
  ['two  blanks', '"two  blanks"'],
  [' blank', '" blank"'],
  ['blank ', '"blank "'],
  ['', '""'],
  ['a"b', String.raw`"a\"b"`],
  [String.raw`a\b`, String.raw`"a\\b"`],
  ['a\nb', String.raw`"a\nb"`],
  [7, '7'],
  [null, 'null'],
  [{ a: [1] }, '{"a":[1]}'],
])('the value %j is shown as %s', (value, shown) => {
  expect(prettyLine(line({ value }), false)).toBe(`03:04:05.678 INFO  runtime it runs value=${shown}`)
})

it.each<[unknown, string[]]>([
  [{ stack: 'Error: x\n    at y\n' }, ['    Error: x', '    at y', '    ']],
  [{ stack: 'Error: \u001b[2J"' }, [String.raw`    Error: \u001b[2J\"`]],
  [{ message: 'no stack' }, ['    {"message":"no stack"}']],
  ['a text', ['    a text']],
  [null, ['    null']],
])('the cause %j is on lines of its own', (cause, lines) => {
  expect(prettyLine(line({ cause }), false).split('\n').slice(1)).toEqual(lines)
})
