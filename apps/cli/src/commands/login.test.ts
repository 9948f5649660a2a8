/** Signing in at a service that names impossible intervals. */
import { RpcFailure } from '@selvedge/client'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { login } from './login.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Milliseconds before each of the first polls, which the service answers as given. */
async function pausesOf(interval: number, reasons: readonly string[]): Promise<number[]> {
  const left = [...reasons]
  let polls = 0
  const client = {
    authorizeDevice: async () => ({
      device_code: 'd',
      user_code: 'AAAA-BBBB',
      verification_uri: 'https://identity.example/device',
      verification_uri_complete: 'https://identity.example/device?user_code=AAAA-BBBB',
      expires_in: 600,
      interval,
    }),
    async redeemDevice() {
      polls++
      const reason = left.shift() ?? 'access_denied'
      throw Object.assign(new RpcFailure({ code: 0, message: '', data: {} } as never), { reason })
    },
  }
  const context = {
    signIns: { read: () => undefined },
    terminal: { note: () => undefined, isWatched: false },
    identity: async () => ({ url: 'https://identity.example', client }),
  }
  const outcome = (login as unknown as { run: (...args: unknown[]) => Promise<unknown> })
    .run(context, { options: {} })
    .then(
      () => 'done',
      () => 'failed',
    )
  const pauses: number[] = []
  for (let expected = 1; expected <= reasons.length + 1; expected++) {
    let waited = 0
    while (polls < expected && waited <= 120_000) {
      await new Promise((resolve) => setImmediate(resolve))
      if (polls >= expected) break
      vi.advanceTimersByTime(500)
      waited += 500
    }
    pauses.push(waited)
  }
  expect(await outcome).toBe('failed')
  return pauses
}

it.each([
  [5, 5000],
  [0, 1000],
  [-10, 1000],
  [86_400, 60_000],
  // More milliseconds than a timer of Node can wait: it would fire at once.
  [3_000_000, 60_000],
])(
  'polls after an interval of %d s, at least every minute and at most every second',
  async (interval, pause) => {
    expect(await pausesOf(interval, [])).toEqual([pause])
  },
)

it('polls less often when it is asked to, up to once a minute', async () => {
  const pauses = await pausesOf(55, ['slow_down', 'slow_down'])
  expect(pauses).toEqual([55_000, 60_000, 60_000])
})
