import type { AccessClaims } from '@selvedge/protocol/tokens'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { initialState, type RuntimeState, type StateStore } from '../state.ts'
import { createAccount } from './account.ts'

/** A store whose writes end when the test says so, well or badly. */
function createSlowStore() {
  let value: RuntimeState = initialState
  const writes: { end: (cause?: Error) => void }[] = []
  let last: Promise<void> = Promise.resolve()
  const store: StateStore = {
    get value() {
      return value
    },
    notices: [],
    update(change) {
      const before = value
      value = change(value)
      const written = new Promise<void>((resolve, reject) => {
        writes.push({
          end(cause) {
            if (cause) value = before
            if (cause) reject(cause)
            else resolve()
          },
        })
      })
      last = written.catch(() => undefined)
      return written
    },
    updateLazily: () => undefined,
    settled: () => last,
    close: async () => undefined,
  }
  return { store, writes }
}

const claims = { account_id: 'a' } as AccessClaims

it('an account that two calls associate at once is acknowledged to neither before it is on the disk', async () => {
  const { store, writes } = createSlowStore()
  const account = createAccount(
    store,
    createFakeClock(),
    () => undefined,
    () => false,
  )
  const first = account.associate(claims, 'token')
  let isAnswered = false
  const second = account.associate(claims, 'token').finally(() => {
    isAnswered = true
  })
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect(isAnswered).toBe(false)
  writes[0]!.end(new Error('the disk is full'))
  await expect(first).rejects.toThrow('the disk is full')
  await new Promise((resolve) => setTimeout(resolve, 5))
  // The first one was taken back: the second has to write for itself.
  expect({ isAnswered, writes: writes.length }).toEqual({ isAnswered: false, writes: 2 })
  writes[1]!.end()
  expect(await second).toEqual({ accountId: 'a' })
})
