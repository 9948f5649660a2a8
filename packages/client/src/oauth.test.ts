import { describe, expect, it } from 'vitest'
import { ConnectionFailure, isSelvedgeError, OAuthFailure, RpcFailure } from './errors.ts'
import { read, sendWithProof, successOf } from './oauth.ts'
import type { Reply } from './send.ts'

const reply = (status: number, json: unknown, nonce: string | null = null): Reply => ({
  status,
  json,
  text: '',
  header: (name) => (name === 'dpop-nonce' ? nonce : null),
})
const failureOf = (answer: Reply): unknown => {
  try {
    return successOf('https://id.example/token', answer)
  } catch (cause) {
    return cause
  }
}

describe('an answer', () => {
  it.each([200, 201, 299])('with the status %i is a success', (status) => {
    expect(failureOf(reply(status, { a: 1 }))).toEqual({ a: 1 })
  })

  it.each([199, 300, 400])('with the status %i is a failure', (status) => {
    expect(failureOf(reply(status, { a: 1 }))).toBeInstanceOf(ConnectionFailure)
  })

  it('with an error of OAuth is a refusal with its description', () => {
    const cause = failureOf(reply(403, { error: 'access_denied', error_description: 'blocked' }))
    expect(cause).toBeInstanceOf(OAuthFailure)
    expect(cause).toMatchObject({
      ...{ name: 'OAuthFailure', kind: 'oauth', reason: 'access_denied', status: 403, message: 'blocked' },
    })
    expect(failureOf(reply(400, { error: 'invalid_grant' }))).toMatchObject({ message: 'invalid_grant' })
  })

  it.each([{ error: 'toString' }, { error: 'no_such_code' }, { error: 1 }, null, 'x'])(
    'with another error is no answer of the service: %j',
    (json) => {
      expect(failureOf(reply(502, json))).toMatchObject({
        ...{ name: 'ConnectionFailure', kind: 'connection', reason: 'refused' },
        message: 'https://id.example/token answered HTTP 502',
      })
    },
  )

  it('of another shape is refused', () => {
    const schema = { safeParse: (value: unknown) => ({ success: value === 1, data: 'one' }) as never }
    expect(read('https://id.example', schema, 1)).toBe('one')
    expect(() => read('https://id.example', schema, 2)).toThrow(
      expect.objectContaining({
        reason: 'bad_answer',
        message: 'https://id.example sent a response with an unexpected shape',
      }),
    )
  })
})

describe('a request with a proof', () => {
  async function send(...replies: Reply[]) {
    const nonces = { current: 'old' as string | undefined }
    const proofs: string[] = []
    const answer = await sendWithProof(
      nonces,
      (nonce) => `proof with ${nonce}`,
      async (proof) => {
        proofs.push(proof())
        return replies.shift()!
      },
    )
    return { answer, proofs, nonce: nonces.current }
  }

  it('is sent once, and the nonce of the answer is the next one', async () => {
    expect(await send(reply(200, null, 'new'))).toMatchObject({ proofs: ['proof with old'], nonce: 'new' })
    expect(await send(reply(200, 'x'))).toMatchObject({ proofs: ['proof with old'], nonce: 'old' })
  })

  it('is sent once more with the nonce that the service requires, and no third time', async () => {
    const asksFor = (nonce: string) => reply(400, { error: 'use_dpop_nonce' }, nonce)
    const { answer, proofs } = await send(asksFor('one'), asksFor('two'), reply(200, {}))
    expect(proofs).toEqual(['proof with old', 'proof with one'])
    expect(answer.status).toBe(400)
  })

  it('is not sent again after another error', async () => {
    expect((await send(reply(400, { error: 'invalid_dpop_proof' }, 'one'))).proofs).toHaveLength(1)
  })
})

describe('an error of this library', () => {
  const object = {
    code: -32_000,
    message: 'm',
    data: { reason: 'busy', detail: 'd', hint: 'h', retryable: true, errorId: 'e' },
  }

  it('of JSON-RPC has what the service sent', () => {
    const failure = new RpcFailure(object as never)
    expect(failure).toMatchObject({
      ...{ name: 'RpcFailure', kind: 'rpc', message: 'd', reason: 'busy', code: -32_000 },
      ...{ hint: 'h', retryable: true, errorId: 'e' },
    })
    const data = { ...object.data, errorId: 7 }
    expect(new RpcFailure({ ...object, data } as never).errorId).toBeUndefined()
  })

  it('is recognized', () => {
    const all = [
      new RpcFailure(object as never),
      new OAuthFailure('busy' as never, '', 503),
      new ConnectionFailure('timeout', ''),
    ]
    expect(all.map(isSelvedgeError)).toEqual([true, true, true])
    expect([new Error('x'), {}, null, undefined].map(isSelvedgeError)).toEqual([false, false, false, false])
  })

  it('has its cause', () => {
    const cause = new Error('x')
    expect(new ConnectionFailure('timeout', 'y', { cause })).toMatchObject({ message: 'y', cause })
  })
})
