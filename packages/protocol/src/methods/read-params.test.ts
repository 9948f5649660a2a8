import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import type { Method } from './method.ts'
import { readParams } from './read-params.ts'

const method = (params: object[], more: object = {}) => ({ name: 'go', params, ...more }) as unknown as Method
const speed = { name: 'speed', schema: z.number(), expected: 'a number' }
const note = { name: 'note', schema: z.string().optional(), expected: 'a text' }
const two = method([speed, note])
const refusalOf = (of: Method, raw: unknown): string => {
  try {
    return `accepted ${JSON.stringify(readParams(of, raw))}`
  } catch (cause) {
    const { reason, message } = cause as { reason: string; message: string }
    return `${reason}: ${message}`
  }
}

describe('parameters', () => {
  it('come by name or by position', () => {
    expect(readParams(two, { note: 'x', speed: 1 })).toEqual({ speed: 1, note: 'x' })
    expect(readParams(two, [1, 'x'])).toEqual({ speed: 1, note: 'x' })
    expect(readParams(two, [1])).toEqual({ speed: 1, note: undefined })
  })

  it.each([undefined, null, {}, [], ['']])('of a method without any are nothing: %j', (raw) => {
    expect(readParams(method([]), raw)).toEqual({})
  })

  it.each<[unknown, string]>([
    [['x'], 'go: got 1 values; expected 0: no parameters'],
    [['', ''], 'go: got 2 values; expected 0: no parameters'],
    [{ a: 1 }, 'go: unknown parameter "a"; expected no parameters'],
  ])('of a method without any are refused: %j', (raw, message) => {
    expect(refusalOf(method([]), raw)).toBe(`invalid_params: ${message}`)
  })

  it.each<[unknown, string]>([
    [null, 'go: parameter "speed" is missing; expected a number'],
    [undefined, 'go: parameter "speed" is missing; expected a number'],
    [[], 'go: parameter "speed" is missing; expected a number'],
    [{ note: 'x' }, 'go: parameter "speed" is missing; expected a number'],
    [{ speed: 1, x: 2 }, 'go: unknown parameter "x"; expected speed, note'],
    [[1, 'x', 2], 'go: got 3 values; expected 2: speed, note'],
    [['fast'], 'go: parameter "speed" is "fast"; expected a number'],
    [[null], 'go: parameter "speed" is null; expected a number'],
    [[[1]], 'go: parameter "speed" is an array; expected a number'],
    [[{}], 'go: parameter "speed" is an object; expected a number'],
    [[1, 2], 'go: parameter "note" is 2; expected a text'],
    [['s'.repeat(41)], 'go: parameter "speed" is a string of 41 characters; expected a number'],
    [['s'.repeat(40)], `go: parameter "speed" is "${'s'.repeat(40)}"; expected a number`],
    [
      { speed: 1, ['k'.repeat(41)]: 1 },
      'go: unknown parameter a string of 41 characters; expected speed, note',
    ],
  ])('are refused with the value and what is expected: %j', (raw, message) => {
    expect(refusalOf(two, raw)).toBe(`invalid_params: ${message}`)
  })

  it('may be one more, where the method ignores that', () => {
    const ignoring = method([speed], { ignoresOneMore: true })
    expect(refusalOf(ignoring, [1, 'more'])).toBe('accepted {"speed":1}')
    expect(refusalOf(ignoring, [1, 'more', 'x'])).toBe('invalid_params: go: got 3 values; expected 1: speed')
  })
})
