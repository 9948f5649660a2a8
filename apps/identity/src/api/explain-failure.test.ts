import { StoreError } from '@selvedge/service-kit/store'
import { expect, it } from 'vitest'
import { OutdatedError } from '../storage/changes/freshness.ts'
import { explainFailure } from './explain-failure.ts'

it('a stranger learns of a failed storage, and nothing of another failure', () => {
  const outdated = new OutdatedError()
  expect(explainFailure(outdated)).toMatchObject({
    reason: 'storage_failed',
    message: outdated.message,
    cause: outdated,
  })
  const full = new StoreError('x', { cause: { code: 'ENOSPC' } })
  expect(explainFailure(full)).toMatchObject({ reason: 'storage_full' })
  expect(explainFailure(new Error('a defect'))).toBeUndefined()
})
