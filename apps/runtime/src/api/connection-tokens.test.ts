/** Which connections count as authenticated: those that proved a token, while the last token that they proved is valid. */
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { beforeEach, expect, it } from 'vitest'
import type { LastingAnswer } from '../device/tokens/lasting.ts'
import { callerOf } from './caller.ts'
import { createConnectionTokens } from './connection-tokens.ts'

let watched: Set<LastingAnswer>
let checks: string[]
let refusal: Error | undefined
beforeEach(() => {
  watched = new Set()
  checks = []
  refusal = undefined
})

const claimsOf = (token: string) =>
  ({ jti: token, account_id: 'a', client_id: 'c', sub: `person of ${token}` }) as AccessClaims
const access = { scope: 'edge:mcm' } as never

const authorize = createConnectionTokens({
  async authorize(token: string, allowed: unknown, context: unknown, use: string) {
    checks.push(`authorize ${token} ${allowed === access} ${typeof context} ${use}`)
    if (refusal) throw refusal
    return claimsOf(token)
  },
  expectStillValid: (claims: AccessClaims, allowed: unknown) =>
    void checks.push(`still ${claims.jti} ${allowed === access}`),
  lasting: {
    watch(answer: LastingAnswer) {
      watched.add(answer)
      return () => void watched.delete(answer)
    },
  } as never,
} as never)

function connect() {
  const callbacks = new Set<() => void>()
  const callers: (string | undefined)[] = []
  return {
    callers,
    /** Callbacks that wait for the end of the connection. */
    callbacks,
    close: () => {
      for (const each of [...callbacks]) each()
    },
    onEnd(callback: () => void) {
      callbacks.add(callback)
      return () => void callbacks.delete(callback)
    },
    setCaller: (caller: string | undefined) => void callers.push(caller),
  }
}
type Connection = ReturnType<typeof connect>
const call = (connection: Connection | undefined, token: string) =>
  authorize(token, access, { connection } as never, 'use')

it('a caller is a subject with its client and account, whatever token it has', () => {
  const claims = claimsOf('t')
  expect(callerOf(claims)).toBe('["a","c","person of t"]')
  expect(callerOf({ ...claims, jti: 'other' })).toBe(callerOf(claims))
  for (const member of ['account_id', 'client_id', 'sub'])
    expect(callerOf({ ...claims, [member]: 'x' })).not.toBe(callerOf(claims))
})

it('a call without a connection is checked, and watched by nothing', async () => {
  expect(await call(undefined, 't')).toEqual(claimsOf('t'))
  expect(checks).toEqual(['authorize t true object use'])
  expect(watched.size).toBe(0)
})

it('a connection gets the caller of its token, once for each token', async () => {
  const connection = connect()
  expect(await call(connection, 't')).toEqual(claimsOf('t'))
  await call(connection, 't')
  expect(connection.callers).toEqual([callerOf(claimsOf('t'))])
  expect(checks).toHaveLength(2)
  expect([watched.size, connection.callbacks.size]).toEqual([1, 1])
})

it('a token that is refused makes no caller', async () => {
  const connection = connect()
  refusal = new Error('refused')
  await expect(call(connection, 't')).rejects.toBe(refusal)
  expect([connection.callers, watched.size]).toEqual([[], 0])
})

it('another token replaces the first one, which is watched no more', async () => {
  const connection = connect()
  await call(connection, 't')
  const [first] = watched
  await call(connection, 'u')
  expect(watched.has(first!)).toBe(false)
  expect([watched.size, connection.callbacks.size]).toEqual([1, 1])
  expect(connection.callers.at(-1)).toBe(callerOf(claimsOf('u')))
})

it('what is watched is the token of the call, again and from the beginning', async () => {
  await call(connect(), 't')
  const [answer] = watched
  answer!.expectAllowed()
  await answer!.verifyAgain()
  expect(checks.slice(1)).toEqual(['still t true', 'authorize t true object use'])
})

it('a token that is not valid any more leaves a connection without a caller, until it proves one', async () => {
  const connection = connect()
  await call(connection, 't')
  const [answer] = watched
  answer!.end(undefined as never)
  expect(connection.callers.at(-1)).toBeUndefined()
  expect([watched.size, connection.callbacks.size]).toEqual([0, 0])
  await call(connection, 't')
  expect(connection.callers.at(-1)).toBe(callerOf(claimsOf('t')))
  expect(watched.size).toBe(1)
})

it('the end of a connection ends watching it, and no other one', async () => {
  const [connection, other] = [connect(), connect()]
  await call(connection, 't')
  await call(other, 't')
  connection.close()
  expect([watched.size, other.callers]).toEqual([1, [callerOf(claimsOf('t'))]])
})
