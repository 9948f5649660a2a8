import assert from 'node:assert/strict'
import { test } from 'node:test'
import worker from './index.ts'
import { callWorker } from './selvedge/testing.ts'

test('answers with the path of the request', async () => {
  const response = await callWorker(worker, { url: '/a?b=c' }, { env: { NAME: 'you' } })
  assert.equal(response.status, 200)
  assert.deepEqual(await response.json(), { hello: 'you', path: '/a', service: 'test' })
})
