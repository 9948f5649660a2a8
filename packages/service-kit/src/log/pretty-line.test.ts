import { expect, it } from 'vitest'
import { createLog } from './log.ts'

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
