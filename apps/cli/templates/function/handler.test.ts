import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handler } from './handler.ts'
import { callHandler } from './selvedge/testing.ts'

test('counts visits in its storage', async () => {
  const items = new Map([['visits', '41']])
  const { status, headers, body } = await callHandler(handler, { url: '/a' }, { items })
  assert.equal(status, 200)
  assert.equal(headers['content-type'], 'application/json')
  assert.deepEqual(JSON.parse(body), { hello: 'from the edge', path: '/a', visits: 42 })
  assert.equal(items.get('visits'), '42')
})
