import { maxPulls, topics } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import type { Owner } from '../deployments/ownership.ts'
import { createPulls } from './pulls.ts'

const owner = (client_id = 'client') => ({ account_id: 'account', client_id }) as Owner
const guard = {
  expectRoom: async () => undefined,
  async *watch(content: AsyncIterable<Uint8Array>) {
    yield* content
  },
}
async function* bytes(...sizes: number[]) {
  for (const size of sizes) yield new Uint8Array(size)
}

it('shows how much of an image has arrived, to its project only, until it ends', async () => {
  const changes: unknown[] = []
  const pulls = createPulls(() => changes.push(pulls.of(owner())[0]))
  const result = await pulls.follow(owner(), 'example/nginx:1', guard, async ({ announce, watch }) => {
    await announce(30)
    for await (const _ of watch(bytes(10, 20), 30)) expect(pulls.of(owner('other'))).toEqual([])
    return 'done'
  })
  const seen = (receivedBytes: number, totalBytes: number | null) => ({
    source: 'example/nginx:1',
    receivedBytes,
    totalBytes,
  })
  expect([result, pulls.of(owner())]).toEqual(['done', []])
  expect(changes).toEqual([seen(0, null), seen(0, 30), seen(10, 30), seen(30, 30), undefined])
})

it('shows nothing of one that failed', async () => {
  const pulls = createPulls(() => undefined)
  const work = () => Promise.reject(new Error('the registry is gone'))
  await expect(pulls.follow(owner(), 'a', guard, work)).rejects.toThrow('gone')
  expect(pulls.of(owner())).toEqual([])
})

it('refuses more at the same time than one project, or all of them, may have', async () => {
  const pulls = createPulls(() => undefined)
  const { promise, resolve } = Promise.withResolvers<void>()
  const start = (of: Owner) => pulls.follow(of, 'a', guard, () => promise)
  const all = Array.from({ length: maxPulls }, () => start(owner()))
  expect(topics.pulls.data.safeParse(pulls.of(owner())).success).toBe(true)
  await expect(start(owner())).rejects.toMatchObject({ reason: 'busy' })
  // Another project has its share at once.
  for (let at = 0; at < maxPulls; at++) all.push(start(owner('second')))
  for (let at = 2 * maxPulls; at < 64; at++) all.push(start(owner(`client ${at}`)))
  await expect(start(owner('another'))).rejects.toMatchObject({ reason: 'busy' })
  resolve()
  await Promise.all(all)
  expect(await start(owner())).toBeUndefined()
})

it('refuses one that is not complete within a day, however steadily its bytes come', async () => {
  let now = 0
  const pulls = createPulls(
    () => undefined,
    () => now,
  )
  const read = pulls.follow(owner(), 'a', guard, async ({ watch }) => {
    let chunks = 0
    for await (const _ of watch(bytes(1, 1, 1, 1), 4)) now = ++chunks * 10 * 3_600_000
    return chunks
  })
  await expect(read).rejects.toMatchObject({
    reason: 'registry_unavailable',
    message: 'a did not arrive within 24 hours',
  })
})
