import { expect, it } from 'vitest'
import { runScheduled } from './scheduled.ts'

const event = { cron: '* * * * *', time: 60_000 }

it('gives the handler the event in the form of other platforms', async () => {
  let seen: object | undefined
  await runScheduled((own) => {
    own.noRetry()
    seen = { type: own.type, cron: own.cron, scheduledTime: own.scheduledTime }
  }, event)
  expect(seen).toEqual({ type: 'scheduled', cron: '* * * * *', scheduledTime: 60_000 })
})

it('lasts until the handler and all that it passed to waitUntil are complete, also what a task adds', async () => {
  const done: string[] = []
  await runScheduled(async (_, waitUntil) => {
    waitUntil(
      Promise.resolve().then(() => {
        done.push('first')
        waitUntil(Promise.resolve().then(() => done.push('second')))
      }),
    )
    waitUntil('no promise')
    await Promise.resolve()
    done.push('handler')
  }, event)
  expect(done.toSorted()).toEqual(['first', 'handler', 'second'])
})

it.each<[string, Parameters<typeof runScheduled>[0]]>([
  [
    'its handler throws',
    () => {
      throw new Error('first')
    },
  ],
  ['its handler rejects', () => Promise.reject(new Error('first'))],
  [
    'a task rejects, whatever comes after that',
    (_, waitUntil) => {
      waitUntil(Promise.reject(new Error('first')))
      waitUntil(new Promise((_, reject) => setImmediate(() => reject(new Error('second')))))
    },
  ],
])('fails with the first failure if %s', async (_, handler) => {
  await expect(runScheduled(handler, event)).rejects.toThrow('first')
})

it('waits for the tasks of a handler that failed', async () => {
  let isDone = false
  const run = runScheduled((_, waitUntil) => {
    waitUntil(
      new Promise<void>((resolve) =>
        setImmediate(() => {
          isDone = true
          resolve()
        }),
      ),
    )
    throw new Error('first')
  }, event)
  await expect(run).rejects.toThrow('first')
  expect(isDone).toBe(true)
})
