import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLearned, openDocument } from '@selvedge/service-kit/store'
import { createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type StateStore, stateFormat } from '../state.ts'
import { createTimeFloor } from './time-floor.ts'

const hourMs = 3_600_000
const begin = Date.parse('2026-01-01T00:00:00Z')

let folder: string
let state: StateStore
let now: number
/** Whether the disk refuses writes. */
let isFull: boolean
/** Times that were to be written at once. */
let writes: number
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'time-floor-'))
  state = await openDocument(join(folder, 'state'), stateFormat)
  now = begin
  isFull = false
  writes = 0
})
afterEach(async () => {
  await state.close()
  rmSync(folder, { recursive: true })
})

function open() {
  const update: StateStore['update'] = (change) => {
    if (isFull) return Promise.reject(new Error('ENOSPC'))
    return state.update(change)
  }
  const options = { where: 'test.time', log: createMemoryLog(), times: { firstMs: 1, maxMs: 5 } }
  const learned = createLearned({ updateLazily: state.updateLazily, update }, options)
  const counting: typeof learned = {
    ...learned,
    learn(...change) {
      writes++
      learned.learn(...change)
    },
  }
  return { learned, store: createTimeFloor(state, counting, { now: () => now }) }
}
/** The time from which a device starts that loses its power now. */
async function stored(): Promise<number> {
  const copy = await openDocument(join(folder, 'state'), stateFormat)
  await copy.close()
  return copy.value.timeFloor
}

it('is on the disk once the disk works again, without another answer of the identity service', async () => {
  isFull = true
  const { learned, store } = open()
  store()
  expect(state.value.timeFloor).toBe(begin)
  expect(await stored()).toBe(0)
  isFull = false
  await expect.poll(stored).toBe(begin)
  await learned.stop()
})

it('is written by itself four times a day, and at each correction by more than that', async () => {
  const { learned, store } = open()
  for (let quarters = 0; quarters <= 4 * 24; quarters++) {
    store()
    now += hourMs / 4
  }
  await expect.poll(stored).toBeGreaterThanOrEqual(begin + 24 * hourMs)
  expect(writes).toBe(5)
  now = begin - 24 * hourMs
  store()
  await expect.poll(stored).toBe(now)
  await learned.stop()
})
