import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { addHealth } from '../http-app/health.ts'
import { createHttpApp } from '../http-app/http-app.ts'
import { createLog } from '../log/index.ts'
import { createReadiness, type OwnReadiness } from './readiness.ts'
import { watchStalled } from './watch-stalled.ts'

const lines: string[] = []
let readiness: OwnReadiness
let stalled: string[] = []
let stop: () => void

beforeEach(() => {
  vi.useFakeTimers()
  lines.length = 0
  stalled = []
  readiness = createReadiness()
  readiness.setReady()
  const log = createLog({ service: 'test', level: 'info', now: () => 0 }, (line) => lines.push(line))
  stop = watchStalled({ stalled: () => stalled }, readiness, log)
})
afterEach(() => {
  stop()
  vi.useRealTimers()
})

/** Some checks later. */
const later = () => vi.advanceTimersByTime(10_000)

it('a daemon with a stalled route is not ready until the route recovers, and the log names it once', () => {
  later()
  expect([readiness.isReady(), lines]).toEqual([true, []])
  stalled = ['/par']
  later()
  expect([readiness.isReady(), readiness.stalled()]).toEqual([false, ['/par']])
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'error', message: 'requests are not answered', stalled: ['/par'] },
  ])
  stalled = []
  later()
  expect([readiness.isReady(), lines.length]).toEqual([true, 2])
})

it('/readyz answers 503 and names the route', async () => {
  vi.useRealTimers()
  const log = createLog({ service: 'test', level: 'error', now: () => 0 }, () => undefined)
  const app = createHttpApp(log, 1000, { vital: ['/readyz', '/healthz'], readiness })
  addHealth(app, { health: '/healthz', ready: '/readyz' }, async () => undefined, readiness)
  const ask = async (url: string) => {
    const { statusCode, body } = await app.inject(url)
    return [statusCode, JSON.parse(body)]
  }
  expect(await ask('/readyz')).toEqual([200, { status: 'ok' }])
  readiness.setStalled(['/par'])
  expect(await ask('/readyz')).toEqual([503, { status: 'unavailable', stalled: ['/par'] }])
  expect(await ask('/healthz')).toEqual([200, { status: 'ok' }])
  await app.close()
})
