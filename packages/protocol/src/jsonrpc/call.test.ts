/** Which calls are well formed, and which ID their answer has. */
import { describe, expect, it } from 'vitest'
import { idOf, isNotification, readCall } from './call.ts'

const call = { jsonrpc: '2.0', method: 'a' }
const beyond = 2 ** 53

describe('a call', () => {
  it.each([
    [call, { id: null, method: 'a', params: undefined }],
    [
      { ...call, id: 'x', params: [1] },
      { id: 'x', method: 'a', params: [1] },
    ],
    [
      { ...call, id: 0, params: {} },
      { id: 0, method: 'a', params: {} },
    ],
    [
      { ...call, id: null, params: null },
      { id: null, method: 'a', params: null },
    ],
    [
      { ...call, id: 1.5 },
      { id: 1.5, method: 'a', params: undefined },
    ],
    [
      { ...call, id: beyond - 1 },
      { id: beyond - 1, method: 'a', params: undefined },
    ],
  ])('is read: %j', (element, expected) => expect(readCall(element)).toEqual(expected))

  it.each([
    [null, 'a call is a JSON object'],
    ['a', 'a call is a JSON object'],
    [undefined, 'a call is a JSON object'],
    [[], 'a call is a JSON object'],
    [{ ...call, id: true }, 'member "id" is neither'],
    [{ ...call, id: {} }, 'member "id" is neither'],
    [{ ...call, id: beyond }, 'beyond 2^53'],
    [{ ...call, id: -beyond }, 'beyond 2^53'],
    [{ ...call, jsonrpc: 2 }, 'member "jsonrpc" is not "2.0"'],
    [{ method: 'a' }, 'member "jsonrpc" is not "2.0"'],
    [{ jsonrpc: '2.0' }, 'member "method" is not a string'],
    [{ ...call, method: 1 }, 'member "method" is not a string'],
    [{ ...call, params: 'x' }, 'member "params" is neither'],
    [{ ...call, params: 1 }, 'member "params" is neither'],
  ])('is refused: %j, %s', (element, message) => {
    expect(() => readCall(element)).toThrow(expect.objectContaining({ reason: 'invalid_request' }))
    expect(() => readCall(element)).toThrow(message)
  })
})

it.each([
  [{ id: 'x' }, 'x'],
  [{ id: '' }, ''],
  [{ id: 0 }, 0],
  [{ id: 1.5 }, 1.5],
  [{ id: beyond }, null],
  [{ id: true }, null],
  [{ id: {} }, null],
  [{}, null],
  [null, null],
  [undefined, null],
  ['x', null],
])('the answer to %j has the ID %j', (element, id) => expect(idOf(element)).toBe(id))

it.each([
  [call, true],
  [{ ...call, params: [] }, true],
  [{ ...call, id: null }, false],
  [{ ...call, id: undefined }, false],
  [{ ...call, id: 1 }, false],
  [{ method: 'a' }, false],
  [null, false],
  ['a', false],
  [[], false],
])('%j is a notification: %s', (element, expected) => expect(isNotification(element)).toBe(expected))
