/** Changes of several devices: one that fails stops no other, and an account has a rate. */
import { RpcError } from '@selvedge/protocol'
import { StoreError } from '@selvedge/service-kit/store'
import { expect, it } from 'vitest'
import { contextOf } from '../../../../../tests/harness/console-calls.ts'
import { createBulk, type DeviceChange } from './bulk.ts'

const viewer = { membership: { accountId: 'a' } } as never
const run = (nodeIds: string[], change: DeviceChange, bulk = createBulk()) =>
  bulk(nodeIds, viewer, contextOf(), change)

it('each device is changed once, in order, and a refusal is of its device only', async () => {
  const changed: string[] = []
  const result = await run(['n', 'm', 'n', 'o'], async (nodeId) => {
    if (nodeId === 'm') throw new RpcError('not_found', 'no device')
    changed.push(nodeId)
  })
  expect(changed).toEqual(['n', 'o'])
  expect(result).toEqual({
    done: ['n', 'o'],
    failed: [{ nodeId: 'm', reason: 'not_found', message: 'no device' }],
  })
})

it('what the store cannot do is a refusal, and any other failure stops all', async () => {
  const cause = new StoreError('database: full', { cause: { code: 'ENOSPC' } })
  expect(await run(['n'], () => Promise.reject(cause))).toMatchObject({
    failed: [{ nodeId: 'n', reason: 'storage_full' }],
  })
  await expect(run(['n'], () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
})

it('an account may change devices twenty times at once', async () => {
  const bulk = createBulk()
  for (let time = 0; time < 20; time++) await run([], async () => undefined, bulk)
  await expect(run([], async () => undefined, bulk)).rejects.toMatchObject({ reason: 'busy' })
  const other = { membership: { accountId: 'b' } } as never
  expect(await bulk([], other, contextOf(), async () => undefined)).toEqual({ done: [], failed: [] })
})
