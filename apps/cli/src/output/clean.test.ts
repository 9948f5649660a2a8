import { expect, it } from 'vitest'
import { cleanResult, indented } from './clean.ts'

const esc = '\u001b'

it('a result has each text on one line, and each name of a member', () => {
  const given = { [`a\n${esc}[2J`]: ['x\ny', { b: 'c\r\nd' }], n: 1, t: true, z: null, u: undefined }
  const shown = JSON.stringify(cleanResult(given))
  expect(shown).not.toMatch(/\\n|\\r|\\u001b/)
  expect(cleanResult({ a: ['x', { b: 'c' }], n: 1, t: true, z: null })).toEqual({
    a: ['x', { b: 'c' }],
    ...{ n: 1, t: true, z: null },
  })
  expect(cleanResult('plain')).toBe('plain')
  expect(cleanResult(7)).toBe(7)
})

it('the lines of a text after the first one are indented', () => {
  expect(indented('one\ntwo\n\nthree')).toBe('one\n  two\n  three')
  expect(indented(`${esc}[31mred`)).not.toContain(esc)
})
