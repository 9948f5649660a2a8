import type { Row } from '@selvedge/service-kit/store'
import { expect, it } from 'vitest'
import { createRefreshTokens } from './refresh-tokens.ts'
import { judgeToken } from './rotations.ts'

const now = 1_700_000_000_000
const graceMs = 10_000
const times = (...ago: number[]) => ago.map((each) => String(now - each)).join('')
const row = (more: Row = {}): Row => ({
  revoked_at: null,
  expires_at: now + 1,
  generation: 3,
  rotations: times(0, 9000, 20_000),
  ...more,
})

it.each<[string, Row, number, string]>([
  ['the newest token', {}, 3, 'newest'],
  ['the token before it, just replaced', {}, 2, 'replaced'],
  ['a token that was replaced within the grace period', {}, 1, 'replaced'],
  ['a token that was replaced earlier', {}, 0, 'reused'],
  ['a token at the end of its grace period', { rotations: times(graceMs) }, 2, 'replaced'],
  ['a token a millisecond after it', { rotations: times(graceMs + 1) }, 2, 'reused'],
  ['a token of which the rotation is not stored any more', { rotations: times(0) }, 1, 'reused'],
  ['a generation that does not exist yet', {}, 4, 'reused'],
  ['any token of a revoked sign-in', { revoked_at: 1 }, 3, 'revoked'],
  ['any token of an expired sign-in', { expires_at: now }, 3, 'ended'],
  ['an old token of a revoked sign-in', { revoked_at: 1 }, 0, 'revoked'],
  ['an old token of an expired sign-in', { expires_at: now }, 0, 'ended'],
])('judges %s', (_, more, generation, expected) => {
  expect(judgeToken(row(more), generation, now, graceMs)).toBe(expected)
})

const sid = '11111111-2222-3333-4444-555555555555'
const tokens = createRefreshTokens(Buffer.alloc(32, 1))

it('reads its own tokens', () => {
  expect(tokens.parse(tokens.make(sid, 12))).toEqual({ sid, generation: 12 })
  expect(tokens.make(sid, 12)).toBe(tokens.make(sid, 12))
})

it.each([
  ['of another secret', createRefreshTokens(Buffer.alloc(32, 2)).make(sid, 1)],
  ['with the seal of another generation', tokens.make(sid, 1).replace('.1.', '.2.')],
  ['with the seal of another sign-in', tokens.make(sid, 1).replace('1111', '9999')],
  ['with a leading zero', tokens.make(sid, 1).replace('.1.', '.01.')],
  ['without a seal', `${sid}.1.`],
  ['with a longer seal', `${tokens.make(sid, 1)}A`],
  ['with a letter before it', `x${tokens.make(sid, 1)}`],
  ['that is empty', ''],
])('reads no token %s', (_, text) => expect(tokens.parse(text)).toBeUndefined())
