import { expect, it } from 'vitest'
import { StoreError } from './store-error.ts'

it.each([
  ['ENOSPC', true],
  ['EDQUOT', true],
  ['EIO', false],
  [undefined, false],
])('a failure with the code %s is of a full disk: %s', (code, full) => {
  const cause = Object.assign(new Error('x'), { code })
  expect(new StoreError('m', { cause })).toMatchObject({ name: 'StoreError', message: 'm', cause, full })
})

it('a person has to repair only what is declared so', () => {
  expect(new StoreError('m')).toMatchObject({ full: false, isUnrepairable: false })
  expect(new StoreError('m', { isUnrepairable: true }).isUnrepairable).toBe(true)
})
