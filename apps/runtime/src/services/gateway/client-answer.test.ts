import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { RpcError } from '@selvedge/protocol'
import { beforeEach, describe, expect, it } from 'vitest'
import { ClientAnswer } from './client-answer.ts'

/** What happened to the response and to the connection of the service, in order. */
let log: string[]
let response: EventEmitter & { headersSent: boolean }
/** Whether the client reads. */
let isReading: boolean
let answer: ClientAnswer

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
    write(part: unknown) {
      log.push(`write ${part}`)
      return isReading
    },
    end: (part: unknown) => log.push(`end ${String(part).replace(/^\{.*"reason":"(\w+)".*/, '$1')}`),
    destroy: () => log.push('destroy'),
  })
  const upstream = { pause: () => log.push('pause'), resume: () => log.push('resume') }
  answer = new ClientAnswer(response as unknown as ServerResponse, upstream as unknown as Socket, {
    sandboxed: false,
    wantsTrailers: false,
    requestId: 'id-1',
  })
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
})
