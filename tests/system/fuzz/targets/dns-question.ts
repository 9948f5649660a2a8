import { encode } from 'dns-packet'
import {
  readQuestion,
  writeAnswer,
} from '../../../../apps/runtime/src/services/engines/oci/outbound/dns-message.ts'
import type { Mutator } from '../engine/target.ts'
import { expectThat, type Target } from '../engine/target.ts'

const question = (name: string, more: object = {}) =>
  encode({ type: 'query', id: 7, flags: 256, questions: [{ type: 'A', name }], ...more })

/** Sets the length of a label, or a byte of the header. */
const setByte: Mutator = (input, random) => {
  if (input.length < 13) return input
  const changed = Buffer.from(input)
  const at = random.oneIn(3) ? random.below(12) : 12 + random.below(input.length - 12)
  changed[at] = random.pick([0, 1, 3, 12, 62, 63, 64, 0x80, 0xc0, 0xff])
  return changed
}

/** Questions of containers to the name server of the runtime. */
export const dnsQuestion: Target = {
  name: 'dns-question',
  covers: ['apps/runtime/src/services/engines/oci/outbound/dns-message.ts'],
  seeds: () => [
    question('api.example.com'),
    question('_x-1.A.b', { additionals: [{ type: 'OPT', name: '.', udpPayloadSize: 1232 }] }),
    question([...Array(5).fill('a'.repeat(49)), 'abc'].join('.')),
    // As long as it may be.
    Buffer.concat([question('a'), Buffer.alloc(1232 - question('a').length)]),
  ],
  mutators: [setByte],
  words: ['\xc0\x0c', '\x03api\x07example\x03com\x00', '\x00\x01\x00\x01', '\x3f'],
  maxBytes: 2000,
  open: () => ({
    parse(input) {
      const read = readQuestion(input)
      if (!read) return 'refused'
      expectThat(/^[a-z0-9._-]{0,253}$/.test(read.name), `the name is ${JSON.stringify(read.name)}`)
      const answer = writeAnswer(read, { result: 0, addresses: Array(9).fill('1.1.1.1'), ttlSeconds: 30 })
      expectThat(answer.length < 512, `the answer has ${answer.length} bytes`)
      expectThat(
        answer.subarray(12, 12 + read.bytes.length).equals(read.bytes),
        'the question is another one',
      )
      return `type ${read.type > 3 ? 'other' : read.type}`
    },
  }),
}
