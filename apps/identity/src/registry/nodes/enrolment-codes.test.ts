import { createFakeClock, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { migrations } from '../../storage/schema.ts'
import { createEnrolmentCodes, type EnrolmentCodes } from './enrolment-codes.ts'

const clock = createFakeClock()
const start = clock.now()
let store: ReturnType<typeof openMemoryStore>
let codes: EnrolmentCodes
beforeEach(() => {
  clock.set(start)
  store = openMemoryStore(migrations)
  codes = createEnrolmentCodes(store, clock)
})
afterEach(() => store.close())

it('a code has twelve letters in groups of four, and no vowel', async () => {
  const made = await Promise.all(Array.from({ length: 50 }, () => codes.create()))
  for (const { code } of made)
    expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}(-[BCDFGHJKLMNPQRSTVWXZ]{4}){2}$/)
  expect(new Set(made.map(({ code }) => code)).size).toBe(50)
  expect(made[0]!.expiresAt).toBe('2026-01-02T00:00:00.000Z')
})

it('a code is for one node, which may show it again, however it is written', async () => {
  const { code } = await codes.create()
  expect(await codes.redeem(code, 'one')).toBe(true)
  expect(await codes.redeem(code.toLowerCase().replaceAll('-', ''), 'one')).toBe(true)
  expect(await codes.redeem(code, 'another')).toBe(false)
})

it('a code expires after a day', async () => {
  const [{ code }, { code: other }] = [await codes.create(), await codes.create()]
  clock.advance(86_399_999)
  expect(await codes.redeem(code, 'one')).toBe(true)
  clock.advance(1)
  expect(await codes.redeem(code, 'one')).toBe(false)
  expect(await codes.redeem(other, 'one')).toBe(false)
})

it('a code that was not made enrols nothing, and a code is not stored as it is', async () => {
  const { code } = await codes.create()
  expect(await codes.redeem('BCDF-BCDF-BCDF', 'one')).toBe(false)
  expect(await codes.redeem('', 'one')).toBe(false)
  const stored = JSON.stringify(await store.run({ sql: 'SELECT * FROM enrolment_codes', values: [] }))
  expect(stored).not.toContain(code)
  expect(stored).not.toContain(code.replaceAll('-', ''))
})
