/** What a stream of events may say, whatever a hostile runtime writes. */
import { describe, expect, it } from 'vitest'
import { createMessageReader, endWith, eventOf } from './event-messages.ts'

const read = (...lines: string[]) => {
  const next = createMessageReader()
  return lines.map(next).filter((each) => each !== undefined)
}

describe('a message', () => {
  it('is a name and JSON, up to an empty line', () => {
    expect(read('event: a', 'data: {"b":1}', '', 'data: 2', '')).toEqual([
      { name: 'a', data: { b: 1 } },
      { name: 'a', data: 2 },
    ])
    expect(read('data: 1', 'data: 2', '')).toEqual([{ name: '', data: 2 }])
  })

  it('needs data, and other lines are ignored', () => {
    expect(read('', 'event: a', '', ': comment', 'id: 1', 'data:1', '')).toEqual([])
  })

  it('that is not JSON is an answer that cannot be read', () => {
    expect(() => read('data: {', '')).toThrow(expect.objectContaining({ reason: 'bad_answer' }))
  })
})

describe('an event', () => {
  it('has the topic of its name, and data', () => {
    const value = { topic: 'clock', data: {} }
    expect(eventOf('clock', value)).toBe(value)
    for (const wrong of [null, undefined, {}, { topic: 'clock' }, { topic: 'x', data: 1 }, { data: 1 }])
      expect(() => eventOf('clock', wrong), JSON.stringify(wrong)).toThrow(
        expect.objectContaining({ reason: 'bad_answer', message: expect.stringContaining('of clock') }),
      )
  })

  it('of a topic that is not known is ignored', () => {
    for (const name of ['later', 'toString', ''])
      expect(eventOf(name, { topic: name, data: 1 })).toBeUndefined()
  })
})

describe('an end', () => {
  it('with a reason of the catalogue is a failure', () => {
    expect(() => endWith({ reason: 'token_expired', detail: 'it expired' })).toThrow(
      expect.objectContaining({ reason: 'token_expired', message: 'it expired', hint: expect.any(String) }),
    )
  })

  it.each([
    undefined,
    null,
    {},
    { reason: 'token_expired' },
    { detail: 'x' },
    { reason: 'toString', detail: 'x' },
    { reason: 'later', detail: 'x' },
    { reason: 5, detail: 'x' },
    { reason: 'token_expired', detail: 5 },
  ])('with %j is the end of a runtime that stops', (value) => {
    expect(() => endWith(value)).not.toThrow()
  })
})
