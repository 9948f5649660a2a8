import type { FunctionStorage } from '@selvedge/client/function'
import { expect, it } from 'vitest'
import { bytesOf, createKeyvalue, textOf } from './keyvalue.ts'

function createItems(refuse = false) {
  const items = new Map<string, string>()
  const storage = {
    getItem: (key: string) => items.get(key) ?? null,
    setItem(key: string, value: string) {
      if (refuse) throw new Error('storage is full')
      items.set(key, value)
    },
    removeItem: (key: string) => void items.delete(key),
    eachItem(visit: (key: string, value: string) => boolean) {
      for (const [key, value] of items) if (visit(key, value) === false) return
    },
  } as unknown as FunctionStorage
  return { items, storage }
}

it.each([
  ['a text', new TextEncoder().encode('grüße')],
  ['bytes that are no UTF-8', Uint8Array.of(0xff, 0, 0x80)],
  ['a text that begins like stored bytes', new TextEncoder().encode('\0base64:AA==')],
  ['a byte order mark', Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)],
])('stores and returns %s', (_, value) => {
  expect(bytesOf(textOf(value))).toEqual(value)
})

it('stores a text as handlers in JavaScript read it', () => {
  const { items, storage } = createItems()
  createKeyvalue(storage, false)
    ['wasi:keyvalue/store'].open('default')
    .set('a', new TextEncoder().encode('b'))
  expect(items.get('a')).toBe('b')
})

it('has one bucket, and returns failures of the storage as errors', () => {
  const { 'wasi:keyvalue/store': store } = createKeyvalue(createItems(true).storage, false)
  expect(() => store.open('other')).toThrow(expect.objectContaining({ payload: { tag: 'no-such-store' } }))
  expect(() => store.open('').set('a', new Uint8Array())).toThrow(
    expect.objectContaining({ payload: { tag: 'other', val: 'storage is full' } }),
  )
})

it.each([
  [false, 1000n],
  [true, '1000'],
])('lists 1,000 keys at a time, and continues after them: text cursors %s', (hasTextCursors, cursor) => {
  const { items, storage } = createItems()
  for (let at = 0; at < 1001; at++) items.set(`k${at}`, '')
  const bucket = createKeyvalue(storage, hasTextCursors)['wasi:keyvalue/store'].open('')
  const first = bucket.listKeys(undefined)
  expect([first.keys.length, first.cursor]).toEqual([1000, cursor])
  expect(bucket.listKeys(first.cursor)).toEqual({ keys: ['k1000'], cursor: undefined })
})

it('counts, and refuses to count what is no integer', () => {
  const { items, storage } = createItems()
  const { 'wasi:keyvalue/store': store, 'wasi:keyvalue/atomics': atomics } = createKeyvalue(storage, false)
  const bucket = store.open('')
  expect([atomics.increment(bucket, 'a', 2n), atomics.increment(bucket, 'a', 3n)]).toEqual([2n, 5n])
  items.set('b', 'text')
  expect(() => atomics.increment(bucket, 'b', 1n)).toThrow(
    expect.objectContaining({ payload: { tag: 'other', val: expect.any(String) } }),
  )
})
