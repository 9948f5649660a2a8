import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { RpcError } from '@selvedge/protocol'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ClientAnswer } from './client-answer.ts'
import { maxJoinedBytes } from './joined-writes.ts'

/** What happened to the response and to the connection of the service, in order. */
let log: string[]
let response: EventEmitter & { headersSent: boolean }
/** Whether the client reads. */
let isReading: boolean
let answer: ClientAnswer
/** What `write` calls when its bytes are sent. */
let sent: (() => void) | undefined
/** What `end` got. */
let last: unknown[]

const answerFor = (wantsTrailers: boolean) => {
  const upstream = { pause: () => log.push('pause'), resume: () => log.push('resume') }
  return new ClientAnswer(response as unknown as ServerResponse, upstream as unknown as Socket, {
    sandboxed: false,
    wantsTrailers,
    requestId: 'id-1',
  })
}

beforeEach(() => {
  log = []
  isReading = true
  response = Object.assign(new EventEmitter(), {
    headersSent: false,
    req: { rawHeaders: [], headers: {} },
    writeHead(status: number) {
      this.headersSent = true
      log.push(`head ${status}`)
      return this
    },
    setHeader: (name: string, value: string) => log.push(`${name}: ${value}`),
    flushHeaders: () => log.push('flush'),
    addTrailers: (pairs: unknown) => log.push(`trailers ${JSON.stringify(pairs)}`),
    write(part: unknown, callback?: () => void) {
      sent = callback
      log.push(`write ${part}`)
      return isReading
    },
    end(part: unknown, encoding?: string) {
      last = [part, encoding]
      log.push(`end ${String(part).replace(/^\{.*"reason":"(\w+)".*/, '$1')}`)
    },
    destroy: () => log.push('destroy'),
  })
  answer = answerFor(false)
})

const head = (...headers: string[]) => ({ status: 200, message: 'OK', headers })
const revoked = new RpcError('token_revoked', 'revoked')

it('sends the head with the first part, once', () => {
  answer.setHead(head())
  expect([log, answer.hasBegun]).toEqual([[], false])
  answer.send(Buffer.from('a'), false)
  answer.send(Buffer.from('b'), true)
  expect([log, answer.hasBegun]).toEqual([['head 200', 'write a', 'end b'], true])
})

it('sends the head before the body if it is asked to', () => {
  answer.begin()
  expect([log, answer.hasBegun]).toEqual([['flush'], false])
  answer.setHead(head())
  answer.begin()
  expect([log, answer.hasBegun]).toEqual([['flush', 'head 200', 'flush'], true])
})

it('a last part is text with one byte a character, unless it is large', () => {
  answer.setHead(head())
  answer.send(Buffer.from('é'.repeat(maxJoinedBytes / 2)), true)
  expect(last).toEqual(['Ã©'.repeat(maxJoinedBytes / 2), 'latin1'])
  const large = Buffer.alloc(maxJoinedBytes + 1, 'a')
  answer.send(large, true)
  expect(last[0]).toBe(large)
})

it('trailers have the head before them, and only a client that reads them gets them', () => {
  answer.setHead(head())
  answer.setTrailers(['Grpc-Status', '0'])
  expect([log, answer.hasBegun]).toEqual([[], false])
  const other = answerFor(true)
  other.setHead(head())
  other.setTrailers(['Grpc-Status', '0', 'Content-Length', '1'])
  expect(log).toEqual(['head 200', 'trailers [["Grpc-Status","0"]]'])
})

describe('a client that does not read', () => {
  beforeEach(() => {
    answer.setHead(head())
    isReading = false
    answer.send(Buffer.from('a'), false)
  })

  it('pauses the service once, until it reads again', () => {
    answer.send(Buffer.from('b'), false)
    response.emit('drain')
    response.emit('drain')
    expect(log).toEqual(['head 200', 'write a', 'pause', 'write b', 'resume'])
  })

  it('pauses the service again after it read', () => {
    response.emit('drain')
    answer.send(Buffer.from('b'), false)
    expect(log.slice(2)).toEqual(['pause', 'resume', 'write b', 'pause'])
  })

  it('does not leave the connection paused when the request ends', () => {
    answer.resume()
    answer.resume()
    expect(log.slice(2)).toEqual(['pause', 'resume'])
    expect(response.listenerCount('drain')).toBe(0)
  })
})

describe('a refusal', () => {
  it('is sent before the answer begins, and ends the connection', () => {
    answer.setHead(head())
    answer.refuse({ status: 502, reason: 'bad_gateway', message: 'x' })
    expect(log).toContain('Connection: close')
    expect(log.join()).toMatch(/bad_gateway/)
  })

  it('cuts off what another part of the gateway sent', () => {
    response.headersSent = true
    answer.refuse({ status: 502, reason: 'bad_gateway', message: 'x' })
    expect(log).toEqual(['destroy'])
  })

  it('cuts an answer off that has begun', () => {
    answer.setHead(head())
    answer.send(Buffer.from('a'), false)
    answer.refuse({ status: 502, reason: 'bad_gateway', message: 'x' })
    expect(log).toEqual(['head 200', 'write a', 'destroy'])
  })
})

describe('a caller that loses its access', () => {
  it('gets a refusal if the answer has not begun', () => {
    answer.setHead(head('Content-Type', 'text/event-stream'))
    answer.revoke(revoked)
    expect(log.join()).toMatch(/token_revoked/)
  })

  it('gets no more of an answer', () => {
    answer.setHead(head('Content-Type', 'text/plain'))
    answer.send(Buffer.from('a\n\n'), false)
    answer.revoke(revoked)
    expect(log.at(-1)).toBe('destroy')
  })

  it('gets a last event with the reason, if it reads events', () => {
    answer.setHead(head('Content-Type', 'text/event-stream'))
    answer.send(Buffer.from('data: a\n\n'), false)
    answer.revoke(revoked)
    expect(log.at(-1)).toMatch(/^write event: selvedge-end\ndata: .*token_revoked/)
  })

  it('gets no event in the middle of another', () => {
    answer.setHead(head('Content-Type', 'text/event-stream'))
    answer.send(Buffer.from('data: a'), false)
    answer.revoke(revoked)
    expect(log.at(-1)).toBe('destroy')
  })

  describe('is cut off after its last event', () => {
    beforeEach(() => {
      vi.useFakeTimers()
      onTestFinished(() => void vi.useRealTimers())
      answer.setHead(head('Content-Type', 'text/event-stream'))
      answer.send(Buffer.from('data: a\n\n'), false)
      answer.revoke(revoked)
    })

    it('when it is sent', () => {
      sent?.()
      expect(log.at(-1)).toBe('destroy')
    })

    it('within two seconds', () => {
      vi.advanceTimersByTime(1999)
      expect(log).not.toContain('destroy')
      vi.advanceTimersByTime(1)
      expect(log.at(-1)).toBe('destroy')
    })
  })
})
