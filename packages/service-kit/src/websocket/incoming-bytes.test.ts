/** What of a WebSocket counts as a message that has begun, and for whom connections count. */
import { describe, expect, it } from 'vitest'
import { createCallers } from './callers.ts'
import { IncomingBytes } from './incoming-bytes.ts'
import { createLargeMessages, IncomingLarge } from './large-messages.ts'
import type { RpcSocket } from './rpc-socket.ts'

describe('the bytes of a message', () => {
  it('begin after the last complete one', () => {
    const bytes = new IncomingBytes()
    expect(bytes.incomplete).toBeUndefined()
    bytes.read(10)
    expect([bytes.total, bytes.sinceMessage, bytes.incomplete]).toEqual([10, 10, 0])
    bytes.messageEnded()
    expect([bytes.sinceMessage, bytes.incomplete]).toEqual([0, undefined])
    bytes.read(5)
    expect([bytes.total, bytes.sinceMessage, bytes.incomplete]).toEqual([15, 5, 10])
  })

  it('are not those of control frames, with the six around their content', () => {
    const bytes = new IncomingBytes()
    bytes.read(6)
    bytes.controlFrame(0)
    expect([bytes.incomplete, bytes.sinceMessage]).toEqual([undefined, 0])
    bytes.read(11)
    bytes.controlFrame(4)
    expect([bytes.incomplete, bytes.sinceMessage]).toEqual([6, 11])
    bytes.read(7)
    bytes.controlFrame(1)
    expect([bytes.incomplete, bytes.sinceMessage]).toEqual([6, 18])
    bytes.messageEnded()
    bytes.read(10)
    bytes.controlFrame(4)
    expect(bytes.incomplete).toBeUndefined()
  })
})

it('a caller has so many connections at most, whatever others have', () => {
  const callers = createCallers(2)
  const sockets = Array.from({ length: 4 }, () => ({}) as RpcSocket)
  expect(sockets.slice(0, 3).map((each) => callers.add(each, 'a'))).toEqual([true, true, false])
  expect(callers.add(sockets[3]!, 'b')).toBe(true)
  callers.remove(sockets[2]!)
  expect(callers.add(sockets[2]!, 'a')).toBe(false)
  callers.remove(sockets[0]!)
  callers.remove(sockets[0]!)
  expect(callers.add(sockets[2]!, 'a')).toBe(true)
  expect(callers.add(sockets[0]!, 'a')).toBe(false)
})

describe('large messages', () => {
  it('are so many at most, unless room is made for one more', () => {
    const asked: string[] = []
    let hasRoom = false
    const all = createLargeMessages<string>(1, (by) => {
      asked.push(by)
      return hasRoom
    })
    const end = all.reserve('a')
    expect([end, asked]).toEqual([expect.any(Function), []])
    expect(all.reserve('b')).toBeUndefined()
    expect(asked).toEqual(['b'])
    hasRoom = true
    const second = all.reserve('c')
    expect(second).toBeDefined()
    second!()
    end!()
    hasRoom = false
    expect(all.reserve('d')).toBeDefined()
  })

  it('are reserved once for a connection, and released or handed over once', () => {
    const all = createLargeMessages<string>(1, () => false)
    const [one, two] = [new IncomingLarge(all), new IncomingLarge(all)]
    expect(one.isReserved).toBe(false)
    expect([one.reserve('a'), one.reserve('a'), one.isReserved]).toEqual([true, true, true])
    expect([two.reserve('b'), two.isReserved]).toEqual([false, false])
    one.release()
    one.release()
    expect([one.isReserved, two.reserve('b')]).toEqual([false, true])
    const end = two.handOver()
    expect([two.isReserved, two.handOver(), one.reserve('a')]).toEqual([false, undefined, false])
    end!()
    expect(one.reserve('a')).toBe(true)
  })
})
