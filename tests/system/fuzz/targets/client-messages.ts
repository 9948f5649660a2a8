import { limitMessages } from '../../../../apps/runtime/src/services/gateway/client-messages.ts'
import { frame, opcodes } from '../../../harness/raw-websocket.ts'
import { expectThat, type Target } from '../engine/target.ts'

const maxBytes = 1024
const { continuation, ping } = opcodes

/** Frames of the clients of a function, on their way to it. */
export const clientMessages: Target = {
  name: 'client-messages',
  covers: [
    'apps/runtime/src/services/gateway/client-messages.ts',
    'apps/runtime/src/services/gateway/frame-walker.ts',
  ],
  seeds: () => [
    Buffer.concat(Array.from({ length: 40 }, () => frame('x'.repeat(200)))),
    Buffer.concat([
      frame('a', { fin: false }),
      frame('', { opcode: ping }),
      frame('b', { opcode: continuation }),
    ]),
    frame('x'.repeat(2000)),
    frame('', { declared: 2 ** 40 }),
  ],
  words: ['\x81\x80', '\x01\xfe', '\x80\xff', '\0\x80', '\xff\xff\xff\xff', '\x89\x80'],
  open: () => ({
    async parse(input) {
      let ends = 0
      let passed = 0
      const stream = limitMessages(maxBytes, () => {
        ends++
      })
      stream.on('data', (chunk: Buffer) => {
        passed += chunk.length
      })
      const size = input.length % 3 === 0 ? 7 : 1024
      for (let at = 0; at < input.length; at += size) stream.write(input.subarray(at, at + size))
      stream.end()
      await new Promise((resolve) => stream.once('end', resolve))
      expectThat(ends <= 1, 'its end was reported more than once')
      expectThat(ends === 1 || passed === input.length, 'something was lost')
      return { outcome: ends === 1 ? 'too long' : 'passed', calls: Math.ceil(input.length / size) }
    },
  }),
}
