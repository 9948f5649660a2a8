import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { createContainerStorage } from '../../../../apps/runtime/src/services/containers/storage.ts'
import type { StorageChange } from '../../../../apps/runtime/src/services/engines/engine.ts'
import { openControlLine } from '../../../../apps/runtime/src/services/engines/function/control-line.ts'
import {
  createFrameReader,
  encodeFrame,
  type Frame,
  maxPayload,
  ProtocolError,
} from '../../../../apps/runtime/src/services/engines/function/frames.ts'
import { mutateJson } from '../engine/mutate-json.ts'
import { expectThat, type Mutator, outcomeOf, type Parser, type Target } from '../engine/target.ts'
import { inChunks } from './chunks.ts'
import { withinTurns } from './turns.ts'

const message = (value: object) => encodeFrame('message', Buffer.from(JSON.stringify(value)))
const bytes = (text: string) => encodeFrame('bytes', Buffer.from(text))
const begin = [message({ listening: true }), message({ ready: true })]
const item = (at: number) => [`key${at}`, 'a value of this item']

const seeds = () => [
  Buffer.concat([
    ...begin,
    message({
      set: [
        ['a', '1'],
        ['__proto__', '2'],
      ],
      ask: 1,
    }),
    message({ remove: ['a', 'a', 'b'], ask: 2 }),
  ]),
  Buffer.concat([
    ...begin,
    bytes('long value'),
    message({ setLong: 'k', ask: 1 }),
    message({ identify: 'service', ask: 2 }),
  ]),
  Buffer.concat([...begin, message({ set: Array.from({ length: 300 }, (_, at) => item(at)), ask: 1 })]),
  Buffer.concat([message({ listening: true }), message({ broken: 'it does not load' })]),
  Buffer.concat([
    message({ listening: true }),
    message({ ready: true, scheduled: true }),
    message({ ran: 0, failed: 'no network' }),
  ]),
  Buffer.concat(Array.from({ length: 200 }, (_, at) => message({ pong: at, more: 'x'.repeat(40) }))),
]

/** Cuts bytes into frames as they say; what is left over is one frame. */
function framesOf(input: Buffer): { kind: number; payload: Buffer }[] {
  const frames: { kind: number; payload: Buffer }[] = []
  for (let at = 0; at + 5 <= input.length && frames.length < 2000; ) {
    const end = Math.min(input.length, at + 5 + input.readUInt32BE(at))
    frames.push({ kind: input[at + 4]!, payload: input.subarray(at + 5, end) })
    at = end
  }
  return frames
}
const joined = (frames: readonly { kind: number; payload: Buffer }[]) =>
  Buffer.concat(
    frames.flatMap(({ kind, payload }) => {
      const head = Buffer.from([0, 0, 0, 0, kind])
      head.writeUInt32BE(payload.length)
      return [head, payload]
    }),
  )

/** Changes what one frame holds; its length is made right. */
const changeFrame: Mutator = (input, random) => {
  const frames = framesOf(input)
  if (frames.length === 0) return input
  const at = random.below(frames.length)
  const { kind, payload } = frames[at]!
  frames[at] = random.oneIn(4)
    ? { kind: random.below(4), payload }
    : { kind, payload: mutateJson(payload, random) }
  return joined(frames)
}
/** Sends frames again, in another order. */
const repeatFrames: Mutator = (input, random) => {
  const frames = framesOf(input)
  if (frames.length === 0) return input
  const more = Array.from({ length: random.size(300) }, () => random.pick(frames))
  return joined([...frames, ...more])
}
/** Sets the length of the first frame to one that is not there. */
const setLength: Mutator = (input, random) => {
  if (input.length < 5) return input
  const changed = Buffer.from(input)
  changed.writeUInt32BE(random.pick([0, 1, 5, maxPayload, maxPayload + 1, 0x7fffffff, 0xffffffff]))
  return changed
}
const mutators = [changeFrame, changeFrame, repeatFrames]
const words = [
  '"ask":1',
  '"set":[]',
  '"remove":',
  '"pong":',
  '"ran":1',
  '"setLong":"k"',
  '\x00\x00\x00\x00\x00',
  '\x00\x04\x00\x00\x00',
  '\xff\xff\xff\xff\x00',
]

/** Frames of the line between a function and the runtime: however the bytes are cut, they are the same frames. */
export const frames: Target = {
  name: 'frames',
  covers: ['apps/runtime/src/services/engines/function/frames.ts'],
  seeds,
  mutators,
  words,
  open: () => ({
    parse(input) {
      const feed = (each: (read: (chunk: Buffer) => void) => void): Frame[] => {
        const read = createFrameReader(maxPayload)
        const found: Frame[] = []
        each((chunk) => found.push(...read(chunk)))
        return found
      }
      let calls = 1
      const outcome = outcomeOf(() => {
        const pieces = feed((read) => {
          calls = inChunks(input, read)
        })
        if (calls > 1)
          expectThat(
            isDeepStrictEqual(
              pieces,
              feed((read) => read(input)),
            ),
            'in pieces they are other frames',
          )
        return `${Math.min(5, pieces.length)} frames`
      }, [ProtocolError])
      return { outcome, calls }
    },
  }),
  openStream: () => {
    const read = createFrameReader(maxPayload)
    let isOver = false
    return (chunk) => {
      if (isOver) return
      try {
        read(chunk)
      } catch {
        isOver = true
      }
    }
  },
}

const quota = 100_000

/** The whole line over a socket, with the storage of containers behind it: the host program may send anything. */
async function openLine(): Promise<Parser> {
  // In memory where that is possible: each question is a transaction.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'selvedge-fuzz-'))
  const storage = createContainerStorage(join(folder, 'storage.db'))
  let number = 0
  return {
    async parse(input) {
      const id = `container${++number % 20}`
      await storage.remove(id)
      let stored = 0
      const receive = async (change: StorageChange) => {
        if (!('set' in change)) return
        for (const [key, value] of change.set)
          stored += 64 + Buffer.byteLength(key) + Buffer.byteLength(value)
      }
      const reader = { receive, mayWrite: async () => undefined }
      const space = await storage.open(id, quota, reader)
      await space.takeOver()
      const path = join(folder, 'line')
      const over = Promise.withResolvers<string>()
      const line = await openControlLine(path, quota, {
        onListening: () => undefined,
        onReady: () => undefined,
        onBroken: () => undefined,
        answer: async (question) => {
          if ('identify' in question) return 'a token'
          await space.write(question)
          return undefined
        },
        onViolation: over.resolve,
        onClosed: () => over.resolve('closed'),
      })
      const socket = connect(path).on('error', () => undefined)
      socket.resume()
      socket.end(input)
      const outcome = await withinTurns(over.promise)
      socket.destroy()
      line.close()
      await space.follow()
      expectThat(stored <= quota, `${stored} bytes are stored, and ${quota} are allowed`)
      space.close()
      // A question is a transaction of the database, and each frame has a turn of its own.
      return { outcome, calls: 50 + 20 * framesOf(input).length }
    },
    async close() {
      await storage.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export const control: Target = {
  name: 'control',
  covers: [
    'apps/runtime/src/services/engines/function/control-line.ts',
    'apps/runtime/src/services/engines/function/storage-change.ts',
    'apps/runtime/src/services/containers/storage.ts',
    'apps/runtime/src/services/containers/storage-items.ts',
  ],
  seeds,
  mutators: [changeFrame, setLength],
  words,
  maxBytes: 3000,
  open: openLine,
}
