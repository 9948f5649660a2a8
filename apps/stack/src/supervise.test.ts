/** A program that ends is started again on the port that it had. */
import type { Child } from '@selvedge/service-kit/lifecycle'
import { expect, it } from 'vitest'
import { supervise } from './supervise.ts'

it.each([
  ['http://127.0.0.1:8083', '8083'],
  ['http://127.0.0.1:80', '80'],
  ['https://127.0.0.1', '443'],
  ['http://[::1]:80', '80'],
])('starts a program that was at %s again on port %s', async (url, port) => {
  const restarted = Promise.withResolvers<string>()
  const crash = Promise.withResolvers<Awaited<Child['ended']>>()
  const end = Promise.withResolvers<Awaited<Child['ended']>>()
  const child = (ended: Promise<Awaited<Child['ended']>>): Child => ({
    url,
    pid: 1,
    ready: {},
    ended,
    stop: async () => end.resolve({ code: 0, how: 'with code 0' }),
  })
  const supervised = supervise(child(crash.promise), {
    name: 'identity',
    restart: async (asked) => {
      restarted.resolve(asked)
      return child(end.promise)
    },
    say: () => undefined,
    onRestarted: () => undefined,
    now: () => 0,
  })
  crash.resolve({ code: 70, how: 'with code 70' })
  expect(await restarted.promise).toBe(port)
  await new Promise(setImmediate)
  await supervised.stop()
})
