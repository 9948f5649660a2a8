/**
 * What clients send on a WebSocket to a function. Its platform holds each message until that is complete, without a limit, so that
 * one client could end the instance for all others.
 */
import { Transform } from 'node:stream'
import { safely } from '@selvedge/service-kit/safely'
import { createFrameWalker } from './frame-walker.ts'

/** Bytes of one message: of a client of events, which has nothing to say, and of any other client. */
export const maxMessageBytes = { ofEvents: 64 * 1024, ofFunctions: 16 * 1024 * 1024 } as const

/**
 * Passes messages on. After one that is too long nothing more comes out.
 *
 * @param maxBytes of one message, all its frames together
 * @param onTooLong is called once
 */
export function limitMessages(maxBytes: number, onTooLong: () => void): Transform {
  let message = 0
  let isOver = false
  const { walk } = createFrameWalker(({ opcode, isFinal, length }) => {
    // Control frames have at most 125 bytes: the platform itself refuses longer ones.
    if (opcode < 8) message += length
    isOver ||= message > maxBytes
    if (opcode < 8 && isFinal) message = 0
  })
  const tooLong = safely('gateway.message-too-long', onTooLong)
  return new Transform({
    transform(chunk: Buffer, _, done) {
      if (isOver) return done()
      walk(chunk, false)
      if (!isOver) return done(null, chunk)
      tooLong()
      done()
    },
  })
}
