import assert from 'node:assert/strict'
import { test } from 'node:test'
import worker from './index.ts'
import { callScheduled, callWorker } from './selvedge/testing.ts'

test('answers with the path of the request', async () => {
  const response = await callWorker(worker, { url: '/a?b=c' }, { env: { NAME: 'you' } })
  assert.equal(response.status, 200)
  assert.deepEqual(await response.json(), { hello: 'you', path: '/a', service: 'test' })
})

test('stores when it was called last', async () => {
  const items = new Map<string, string>()
  await callScheduled(worker, { cron: '*/5 * * * *', scheduledTime: 0 }, { items })
  assert.equal(items.get('last'), '1970-01-01T00:00:00.000Z')
})
