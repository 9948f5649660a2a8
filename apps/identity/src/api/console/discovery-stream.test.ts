/** A discovery service that hangs or sends slowly does not stop the map permanently, and no stream is cut off. */
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { followEvents, openLongAnswer } from './discovery-stream.ts'

const servers: Server[] = []
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Turns of the event loop until a condition holds. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}
const outcomeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (cause: Error) => cause.message,
  )

describe('a long answer', () => {
  it('may take longer than its head', async () => {
    let response: ServerResponse | undefined
    const url = await serve((_, it) => {
      response = it
      it.write('one ')
    })
    const answer = await openLongAnswer(fetch, url, {}, () => undefined)
    const text = answer.text()
    vi.advanceTimersByTime(60_000)
    response!.end('two')
    expect(await text).toBe('one two')
  })

  it('ends after two minutes, whether or not it is read', async () => {
    const url = await serve((_, response) => void response.write('one'))
    let ends = 0
    const answer = await openLongAnswer(fetch, url, {}, () => ends++)
    const text = outcomeOf(answer.text())
    vi.advanceTimersByTime(119_000)
    expect(ends).toBe(0)
    vi.advanceTimersByTime(2000)
    expect(await text).not.toBe('done')
    await until(() => ends === 1)
  })

  it('is given up if its head does not come', async () => {
    const url = await serve(() => undefined)
    let ends = 0
    const outcome = outcomeOf(openLongAnswer(fetch, url, {}, () => ends++))
    vi.advanceTimersByTime(10_001)
    expect(await outcome).toBe('it exceeded its limit of 10 s')
    expect(ends).toBe(1)
  })
})

describe('a stream of events', () => {
  it('continues while keep-alives arrive, and ends when they stop', async () => {
    let response: ServerResponse | undefined
    const url = await serve((_, it) => {
      response = it
      it.write(': welcome\n\n')
    })
    const seen: unknown[] = []
    const outcome = outcomeOf(
      followEvents(fetch, url, {}, new AbortController().signal, (each) => seen.push(each)),
    )
    await until(() => response !== undefined)
    for (let at = 1; at <= 5; at++) {
      response!.write(`data: ${at}\n\n`)
      await until(() => seen.length === at)
      vi.advanceTimersByTime(40_000)
    }
    vi.advanceTimersByTime(6000)
    expect(await outcome).toBe('it exceeded its limit of 45 s')
    expect(seen).toEqual([1, 2, 3, 4, 5])
  })

  it('ends when an event is too long', async () => {
    const url = await serve((_, response) => void response.write(`data: ${'x'.repeat(20_000)}`))
    expect(await outcomeOf(followEvents(fetch, url, {}, new AbortController().signal, () => undefined))).toBe(
      'it sent an event that is too long',
    )
  })
})
