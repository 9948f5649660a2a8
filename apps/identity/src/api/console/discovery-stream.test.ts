/** A discovery service that hangs or sends slowly does not stop the map permanently, and no stream is cut off. */
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  bodyOf,
  createEventReader,
  EventStreamError,
  followEvents,
  openLongAnswer,
  through,
} from './discovery-stream.ts'

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

/** Until a condition holds, by a clock that no test sets. */
const until = (condition: () => boolean) => expect.poll(condition, { interval: 1 }).toBe(true)
const outcomeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (cause: Error) => cause.message,
  )

describe('a long answer', () => {
  it('may take as long as 100,000 locations need at 30 kB/s', async () => {
    let response: ServerResponse | undefined
    const url = await serve((_, it) => {
      response = it
      it.write('one ')
    })
    const answer = await openLongAnswer(fetch, url, {}, () => undefined)
    const body = answer.text()
    vi.advanceTimersByTime(150_000)
    response!.end('two')
    expect(await body).toBe('one two')
  })

  it('ends after five minutes, whether or not it is read', async () => {
    const url = await serve((_, response) => void response.write('one'))
    let ends = 0
    const answer = await openLongAnswer(fetch, url, {}, () => ends++)
    const body = outcomeOf(answer.text())
    vi.advanceTimersByTime(299_000)
    expect(ends).toBe(0)
    vi.advanceTimersByTime(2000)
    expect(await body).not.toBe('done')
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

  it('is sent on, and no timer is left', async () => {
    const url = await serve(({ headers }, response) => void response.end(headers.authorization))
    let ends = 0
    const answer = await openLongAnswer(fetch, url, { Authorization: 'Bearer x' }, () => ends++)
    const body = bodyOf(answer)
    expect(await text(through(body, new PassThrough()))).toBe('Bearer x')
    await until(() => ends === 1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it.each([
    ['an error', 500, 'it answered HTTP 500'],
    ['no body', 204, 'it answered HTTP 204'],
    ['a redirect', 302, 'fetch failed'],
  ])('is given up if it is %s', async (_, status, problem) => {
    const url = await serve((_request, response) => response.writeHead(status, { Location: '/' }).end())
    let ends = 0
    expect(await outcomeOf(openLongAnswer(fetch, url, {}, () => ends++))).toBe(problem)
    expect([ends, vi.getTimerCount()]).toEqual([1, 0])
  })

  it('ends with everything that it passes through when its reader leaves', async () => {
    const [source, transform] = [new PassThrough(), new PassThrough()]
    through(source, transform).destroy()
    await until(() => source.destroyed)
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

  it('gets the token, and ends when it is stopped', async () => {
    const url = await serve(({ headers }, response) => {
      response.write(`data: ${JSON.stringify(headers.authorization)}\n\n`)
    })
    const stop = new AbortController()
    const seen: unknown[] = []
    const headers = { Authorization: 'Bearer x' }
    const outcome = outcomeOf(followEvents(fetch, url, headers, stop.signal, (each) => seen.push(each)))
    await until(() => seen.length > 0)
    expect(seen).toEqual(['Bearer x'])
    stop.abort(new Error('stopped'))
    expect(await outcome).toBe('stopped')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('that is not opened fails, and follows no redirect', async () => {
    const follow = async (listener: RequestListener) =>
      outcomeOf(followEvents(fetch, await serve(listener), {}, new AbortController().signal, () => undefined))
    expect(await follow((_, response) => response.writeHead(503).end())).toBe('it answered HTTP 503')
    expect(await follow((_, response) => response.writeHead(204).end())).toBe('it answered HTTP 204')
    expect(await follow((_, response) => response.writeHead(302, { Location: '/' }).end())).toBe(
      'fetch failed',
    )
    const url = await serve(() => undefined)
    const silent = outcomeOf(followEvents(fetch, url, {}, new AbortController().signal, () => undefined))
    vi.advanceTimersByTime(10_001)
    expect(await silent).toBe('it exceeded its limit of 10 s')
  })

  it('is read in whatever pieces it comes', () => {
    const stream = ': welcome\n\ndata: {"a":1}\n\nevent: end\nid: data: 3\ndata: [2]\n\n'
    for (let size = 1; size <= stream.length; size++) {
      const seen: unknown[] = []
      const read = createEventReader((json) => seen.push(json))
      for (let at = 0; at < stream.length; at += size) read(stream.slice(at, at + size))
      expect(seen).toEqual([{ a: 1 }, [2]])
    }
  })

  it('has events of JSON, up to 10,000 characters long', () => {
    const seen: unknown[] = []
    const read = createEventReader((json) => seen.push(json))
    read(`data: ${'1'.repeat(300)}\n`.repeat(100))
    read(`data: "${'x'.repeat(9992)}"\n`)
    expect(seen).toHaveLength(101)
    expect(() => read(`data: "${'x'.repeat(9994)}`)).toThrow(EventStreamError)
    const refuse = () => createEventReader(() => undefined)('data: x\n')
    expect(refuse).toThrow(EventStreamError)
    expect(refuse).toThrow('it sent an event that is not JSON')
    expect(refuse).toThrow(expect.objectContaining({ name: 'EventStreamError' }))
  })
})
