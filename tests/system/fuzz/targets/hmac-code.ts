import { createHmacCode, verifyHmacCode } from '@selvedge/service-kit/tokens'
import { expectThat, type Target } from '../engine/target.ts'
import { now } from './keys.ts'

const secret = Buffer.alloc(32, 3)
const subject = { nodeId: 'b'.repeat(56), uri: 'https://backend.example/x' }
const code = (expiry: number, more: Partial<typeof subject> = {}) =>
  Buffer.from(createHmacCode(secret, 'a'.repeat(56), expiry, { ...subject, ...more }))
const valid = code(now / 1000 + 60)

/** HMAC codes of nodes. */
export const hmacCode: Target = {
  name: 'hmac-code',
  covers: ['packages/protocol/src/tokens/hmac-code.ts', 'packages/service-kit/src/tokens/hmac-code.ts'],
  seeds: () => [valid, code(1), code(999_999_999_999_999), code(now, { uri: 'x' })],
  words: ['v1.', '.', '9'.repeat(16)],
  maxBytes: 16 * 1024,
  open: () => ({
    parse(input) {
      const text = input.toString('latin1')
      const verdict = verifyHmacCode(secret, text, subject, now / 1000)
      expectThat(
        !verdict.valid || text === valid.toString() || text === code(999_999_999_999_999).toString(),
        'a forged code is valid',
      )
      return verdict.valid ? 'valid' : verdict.reason
    },
  }),
}
