import { expect, it } from 'vitest'
import type { ToFunction } from './control.ts'
import { ProtocolError } from './frames.ts'
import { createScheduledRuns } from './scheduled-runs.ts'

const event = { cron: '* * * * *', time: 60_000 }

function open() {
  const sent: ToFunction[] = []
  return { sent, runs: createScheduledRuns(async (message) => void sent.push(message)) }
}

it('sends each event with a number of its own, and ends it with the result of that number', async () => {
  const { sent, runs } = open()
  const all = [runs.run(event), runs.run(event)]
  expect(sent).toEqual([
    { scheduled: 1, ...event },
    { scheduled: 2, ...event },
  ])
  runs.onRan(2, 'no network')
  runs.onRan(1, undefined)
  await expect(all[1]).rejects.toThrow('no network')
  await expect(all[0]).resolves.toBeUndefined()
})

it('keeps 500 characters of what a function failed with', async () => {
  const { runs } = open()
  const run = runs.run(event)
  runs.onRan(1, 'x'.repeat(200_000))
  await expect(run).rejects.toThrow(/^x{500}$/)
})

it.each([0, 2, -1, Number.MAX_SAFE_INTEGER])(
  'refuses a result with the number %i, which has no event',
  (id) => {
    const { runs } = open()
    runs.run(event).catch(() => undefined)
    expect(() => runs.onRan(id, undefined)).toThrow(ProtocolError)
  },
)

it('ignores a second result of an event', async () => {
  const { runs } = open()
  const run = runs.run(event)
  runs.onRan(1, undefined)
  runs.onRan(1, 'no network')
  await expect(run).resolves.toBeUndefined()
  runs.onRan(1, 'no network')
})

it('ends every event with its line, and sends no more', async () => {
  const { sent, runs } = open()
  const run = runs.run(event)
  runs.giveUp()
  await expect(run).rejects.toThrow('the instance stopped')
  await expect(runs.run(event)).rejects.toThrow('the instance stopped')
  expect(sent).toHaveLength(1)
})

it('ends an event that cannot be sent', async () => {
  const runs = createScheduledRuns(() => Promise.reject(new Error('the line is closed')))
  await expect(runs.run(event)).rejects.toThrow('the line is closed')
})
