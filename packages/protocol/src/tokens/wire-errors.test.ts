import { expect, it } from 'vitest'
import { DpopError } from './checks/proof.ts'
import { TokenError } from './jws.ts'
import { tokenOAuthError, tokenRpcError } from './wire-errors.ts'

const refused = new TokenError('token_expired', 'it has expired')
const wrongKind = new TokenError('token_untrusted', '', { found: 'a', typ: 't', needed: 'b' })
const noProof = new DpopError('invalid_dpop_proof', 'the proof was used before')
const failure = new Error('broken')

it('a refused token or proof is an error of JSON-RPC with its reason, message and cause', () => {
  expect(tokenRpcError(refused)).toMatchObject({
    name: 'RpcError',
    reason: 'token_expired',
    message: 'it has expired',
    cause: refused,
  })
  expect(tokenRpcError(noProof, 'updateGps')).toMatchObject({
    name: 'RpcError',
    reason: 'invalid_dpop_proof',
    message: 'the proof was used before',
    cause: noProof,
  })
  expect(tokenRpcError(wrongKind, 'updateGps')).toMatchObject({ message: 'this is a; updateGps needs b' })
  expect(tokenRpcError(wrongKind)).toMatchObject({ message: 'this is a; what is needed is b' })
})

it('and an error of OAuth, a token with the code of its endpoint and a proof with its own', () => {
  expect(tokenOAuthError(refused, 'invalid_grant')).toMatchObject({
    name: 'OAuthError',
    code: 'invalid_grant',
    message: 'it has expired',
    cause: refused,
  })
  expect(tokenOAuthError(refused, 'invalid_token', ({ reason }) => `for ${reason}`)).toMatchObject({
    message: 'for token_expired',
  })
  expect(tokenOAuthError(noProof, 'invalid_grant')).toMatchObject({
    code: 'invalid_dpop_proof',
    message: 'the proof was used before',
    cause: noProof,
  })
})

it('a proof that cannot be stored now is to be sent again after 10 seconds', () => {
  const busy = new DpopError('busy', 'full')
  expect(tokenOAuthError(busy, 'invalid_grant')).toMatchObject({
    code: 'temporarily_unavailable',
    message: 'full',
    status: 503,
    retryAfter: 10,
    cause: busy,
  })
})

it('any other failure is thrown as it is', () => {
  expect(tokenRpcError(failure)).toBe(failure)
  expect(tokenOAuthError(failure, 'invalid_token')).toBe(failure)
})
