import { RpcError } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { createRepeater } from './repeated.ts'
import { limitTime } from './resumed.ts'
import { UnexpectedStatus } from './status.ts'

const url = 'https://registry.example/v2/'

/** A repeater that does not wait, and how long each wait would have been. */
function repeater(now = () => 0) {
  const waits: number[] = []
  const waiting = { wait: async (ms: number) => void waits.push(ms), random: () => 1, now }
  return { repeated: createRepeater(url, limitTime(waiting), waiting), waits }
}

const answered = (status: number, after?: string) =>
  new RpcError('registry_unavailable', `it answered ${status}`, {
    cause: new UnexpectedStatus(
      {
        status,
        origin: 'https://registry.example',
        headers: after === undefined ? {} : { 'retry-after': after },
      },
      'https://registry.example',
    ),
  })
const broken = (code: string) => Object.assign(new Error(code), { code })

/** Work that fails with one of the errors after the other, and succeeds then. */
function work(...failures: Error[]) {
  let count = 0
  const run = async () => {
    const failure = failures[count++]
    if (failure) throw failure
    return 'document'
  }
  return { run, count: () => count }
}

it('waits as long as each 429 or 503 wants, and requests again', async () => {
  const { repeated, waits } = repeater()
  const { run } = work(answered(429, '30'), answered(503, '120'), answered(429, '0'))
  expect(await repeated(run)).toBe('document')
  expect(waits).toEqual([31_000, 122_000, 4000])
})

it('sends five requests in all to a busy registry, with a longer wait before each', async () => {
  const { repeated, waits } = repeater()
  const asked = work(...Array.from({ length: 9 }, () => answered(503)))
  await expect(repeated(asked.run)).rejects.toThrow('it answered 503')
  expect([asked.count(), waits]).toEqual([5, [1000, 2000, 4000, 8000]])
})

it('requests from one that names a time each time as often as it does', async () => {
  const { repeated } = repeater()
  const asked = work(...Array.from({ length: 99 }, () => answered(429, '5')))
  expect(await repeated(asked.run)).toBe('document')
  expect(asked.count()).toBe(100)
})

it.each([
  ['an earlier document', false],
  ['an earlier run of the runtime', true],
])('after %s, requests through an outage of hours', async (_, isContinued) => {
  let now = 0
  const waiting = { wait: async (ms: number) => void (now += ms), random: () => 1, now: () => now }
  const repeated = createRepeater(url, limitTime(waiting), waiting, isContinued)
  const first = async (hasAnswered: () => void) => {
    hasAnswered()
    return 'first'
  }
  if (!isContinued) expect(await repeated(first)).toBe('first')
  const failures = [broken('ECONNREFUSED'), answered(503), new Error('aborted')]
  const document = async () => {
    if (now >= 36_000_000) return 'second'
    throw failures[Math.floor(now / 1000) % failures.length]
  }
  expect(await repeated(document)).toBe('second')
  now = 0
  const asked = work(...Array.from({ length: 9 }, () => answered(403)))
  await expect(repeated(asked.run)).rejects.toThrow('it answered 403')
})

it('ends an outage with the time of the pull, and the last error', async () => {
  let now = 0
  const waiting = { wait: async (ms: number) => void (now += ms), random: () => 1, now: () => now }
  const repeated = createRepeater(url, limitTime(waiting, 60_000), waiting, true)
  await expect(repeated(() => Promise.reject(broken('ECONNREFUSED')))).rejects.toMatchObject({
    reason: 'registry_unavailable',
    message:
      'registry.example: the image did not arrive within 60 s; the last request failed: registry.example: ECONNREFUSED',
  })
  expect(now).toBeGreaterThan(50_000)
})

it.each([
  ['longer than a pull may last', answered(429, '86401'), 'it accepts no request before 86401 s are over'],
  ['for another request', answered(404), 'it answered 404'],
])('does not wait %s', async (_, failure, message) => {
  const { repeated, waits } = repeater()
  await expect(repeated(work(failure).run)).rejects.toThrow(message)
  expect(waits).toEqual([])
})

it('does not wait beyond the time of the pull', async () => {
  let now = 0
  const { repeated, waits } = repeater(() => now)
  now = 86_400_000 - 30_000
  await expect(repeated(work(answered(429, '30')).run)).rejects.toMatchObject({
    reason: 'registry_unavailable',
    message:
      'registry.example: the image did not arrive within 24 hours; the last request failed: it answered 429',
  })
  expect(waits).toEqual([])
})

it.each(['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT'])(
  'reports %s of a registry that never answered at once, and repeats the request to one that did',
  async (code) => {
    const first = repeater()
    const asked = work(broken(code))
    await expect(first.repeated(asked.run)).rejects.toMatchObject({
      reason: 'registry_unavailable',
      message: `registry.example: ${code}`,
    })
    expect([asked.count(), first.waits]).toEqual([1, []])

    const known = repeater()
    const read = work(broken(code), broken(code))
    const withAnswer = async (hasAnswered: () => void) => {
      hasAnswered()
      return read.run()
    }
    expect(await known.repeated(withAnswer)).toBe('document')
    expect(known.waits).toEqual([1000, 2000])
    // An answer that refuses is an answer.
    const busy = repeater()
    expect(await busy.repeated(work(answered(503), broken(code)).run)).toBe('document')
  },
)

it('reports what no repetition changes at once', async () => {
  const { repeated } = repeater()
  const asked = work(answered(503), new RpcError('invalid_image', 'too large'))
  await expect(repeated(asked.run)).rejects.toMatchObject({ reason: 'invalid_image' })
  expect(asked.count()).toBe(2)
})
