import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { createUsageCount } from './usage.ts'

/** A connection that has carried so many bytes. */
function socketOf(bytesWritten: number, bytesRead: number, closed = false) {
  return Object.assign(new EventEmitter(), { bytesWritten, bytesRead, closed })
}
const asSocket = (socket: ReturnType<typeof socketOf>) => socket as unknown as Socket

it('counts open connections, and closed ones once, for each purpose', () => {
  const { follow, read } = createUsageCount()
  expect(read()).toEqual({})
  const [one, other, image] = [socketOf(1, 10), socketOf(2, 20), socketOf(4, 40)]
  follow('identity', asSocket(one))
  follow('identity', asSocket(other))
  follow('images', asSocket(image))
  expect(read()).toEqual({
    identity: { sentBytes: 3, receivedBytes: 30 },
    images: { sentBytes: 4, receivedBytes: 40 },
  })
  one.bytesWritten = 100
  one.emit('close')
  one.bytesWritten = 1000
  one.emit('close')
  other.bytesRead = 21
  expect(read().identity).toEqual({ sentBytes: 102, receivedBytes: 31 })
  expect(read().identity).toEqual({ sentBytes: 102, receivedBytes: 31 })
})

it('counts a connection that is closed already', () => {
  const { follow, read } = createUsageCount()
  const socket = socketOf(5, 50, true)
  follow('other', asSocket(socket))
  expect([read(), socket.listenerCount('close')]).toEqual([{ other: { sentBytes: 5, receivedBytes: 50 } }, 0])
})
