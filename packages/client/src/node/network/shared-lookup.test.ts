import type { LookupAddress } from 'node:dns'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createSharedLookup } from './shared-lookup.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const [one, two] = [
  { address: '192.0.2.1', family: 4 },
  { address: '2001:db8::1', family: 6 },
] as const

/** A name server that answers as the test decides. */
function serve() {
  const questions: { host: string; answer: PromiseWithResolvers<LookupAddress[]> }[] = []
  const lookup = createSharedLookup((host) => {
    const answer = Promise.withResolvers<LookupAddress[]>()
    questions.push({ host, answer })
    return answer.promise
  })
  const find = (host: string, options: object = { all: true }) =>
    new Promise<unknown>((resolve, reject) =>
      lookup(host, options, (cause, found, family) => (cause ? reject(cause) : resolve(family ?? found))),
    )
  return { questions, find, lookup }
}
const silent = Object.assign(new Error('no answer'), { code: 'EAI_AGAIN' })

it('a name is asked for once while there is no answer, and again after that', async () => {
  const { questions, find } = serve()
  const both = [find('a.example'), find('a.example')]
  expect(questions).toHaveLength(1)
  questions[0]!.answer.resolve([one, two])
  expect(await Promise.all(both)).toEqual([
    [one, two],
    [one, two],
  ])
  const next = find('a.example')
  questions[1]!.answer.resolve([two])
  expect(await next).toEqual([two])
})

it('gives the addresses of one family where that is wanted, or the first address', async () => {
  const { questions, find, lookup } = serve()
  const wanted = [
    find('a.example', { all: true, family: 6 }),
    find('a.example', { all: true, family: 'IPv4' }),
  ]
  const first = new Promise((resolve) => lookup('a.example', { family: 6 }, (...of) => resolve(of)))
  questions[0]!.answer.resolve([one, two])
  expect([...(await Promise.all(wanted)), await first]).toEqual([[two], [one], [null, two.address, 6]])
  const none = find('b.example', { all: true, family: 6 })
  questions[1]!.answer.resolve([one])
  await expect(none).rejects.toMatchObject({ code: 'ENOTFOUND', message: 'b.example has no address' })
})

it('the last addresses count where the name server needs long, until it answers', async () => {
  const { questions, find } = serve()
  const before = find('a.example')
  questions[0]!.answer.resolve([one])
  await before
  const slow = find('a.example')
  await vi.advanceTimersByTimeAsync(1800)
  expect(await slow).toEqual([one])
  const joined = find('a.example')
  questions[1]!.answer.resolve([two])
  expect([await joined, questions.length, vi.getTimerCount()]).toEqual([[two], 2, 0])
})

it('they count where it does not answer, for a day, and never for a name that does not exist', async () => {
  const { questions, find } = serve()
  const known = find('a.example')
  questions[0]!.answer.resolve([one])
  await known
  const ask = (cause: Error) => {
    const asked = find('a.example')
    questions.at(-1)!.answer.reject(cause)
    return asked
  }
  expect(await ask(silent)).toEqual([one])
  await vi.advanceTimersByTimeAsync(86_400_000)
  await expect(ask(silent)).rejects.toBe(silent)
  const again = find('a.example')
  questions.at(-1)!.answer.resolve([one])
  await again
  const gone = Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
  await expect(ask(gone)).rejects.toBe(gone)
  await expect(ask(silent)).rejects.toBe(silent)
})

it('a name without an answer has no other addresses to wait for', async () => {
  const { questions, find } = serve()
  const asked = find('a.example')
  await vi.advanceTimersByTimeAsync(60_000)
  questions[0]!.answer.reject(silent)
  await expect(asked).rejects.toBe(silent)
})

it('many names at once are refused, and many names leave only the newest', async () => {
  const { questions, find } = serve()
  const asked = Array.from({ length: 1000 }, (_, at) => find(`${at}.example`))
  await expect(find('more.example')).rejects.toMatchObject({ code: 'EAI_AGAIN' })
  for (const { answer } of questions) answer.resolve([one])
  await Promise.all(asked)
  const more = find('more.example')
  questions.at(-1)!.answer.resolve([two])
  await more
  const ask = (host: string) => {
    const again = find(host)
    questions.at(-1)!.answer.reject(silent)
    return again
  }
  await expect(ask('0.example')).rejects.toBe(silent)
  expect(await ask('1.example')).toEqual([one])
})
