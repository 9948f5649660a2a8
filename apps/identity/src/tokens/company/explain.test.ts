/** What a person reads when the provider of a company refuses, or does not answer. */
import { OAuthError, RpcError } from '@selvedge/protocol'
import { TokenError } from '@selvedge/protocol/tokens'
import { describe, expect, it } from 'vitest'
import { explainProvider } from './explain.ts'
import * as library from './openid-client.lazy.ts'

const explain = (cause: unknown) => explainProvider(cause, 'acme.example', library as never)
const shown = (cause: unknown) => {
  const refusal = explain(cause) as RpcError
  expect(refusal).toBeInstanceOf(RpcError)
  return [refusal.reason, refusal.message, refusal.hint]
}
const administrators =
  'Show this text to the administrators of your company, or to your operator: selvedge admin company test <domain>'
const answered = (error: string, description?: string) => {
  const parameters = new URLSearchParams({
    error,
    ...(description !== undefined && { error_description: description }),
  })
  return new library.AuthorizationResponseError('x', { cause: parameters } as never)
}
const clientError = (message: string, code?: string, cause?: unknown) =>
  new library.ClientError(message, {
    ...(cause !== undefined && { cause }),
    ...(code !== undefined && { code }),
  } as never)

describe('a refusal of the provider', () => {
  it.each([
    ['access_denied', 'Ask the administrators of your company to give you access to this application.'],
    ['login_required', 'Sign in again.'],
    ['temporarily_unavailable', 'Try again later.'],
    ['server_error', 'Try again later.'],
    ['unknown_code', administrators],
  ])('with the code %s has a next step', (error, hint) => {
    expect(shown(answered(error))).toEqual([
      'credentials_invalid',
      `the provider of acme.example answered ${error}`,
      hint,
    ])
  })

  it('is shown on one line, up to 200 characters', () => {
    expect(shown(answered('e', 'a\n\u001b[31m  b '))[1]).toMatch(/answered e: a [^\n\u001b]*b$/)
    const long = `${'x'.repeat(196)} y`
    expect(shown(answered('e', 'x'.repeat(197)))[1]).toBe(
      `the provider of acme.example answered e: ${'x'.repeat(197)}`,
    )
    expect(shown(answered('e', long))[1]).toBe(
      `the provider of acme.example answered e: ${long.slice(0, 197)}…`,
    )
  })

  it('of a token names what is wrong with it', () => {
    expect(shown(new TokenError('token_untrusted', 'the key is unknown'))).toEqual([
      'credentials_invalid',
      'the ID token from the provider of acme.example is refused: the key is unknown',
      administrators,
    ])
  })

  it('of the library has its cause', () => {
    expect(shown(clientError('bad answer', 'OAUTH_X', new Error('inner')))[1]).toBe(
      'the answer of the provider of acme.example is refused: bad answer: inner',
    )
    expect(shown(clientError('bad answer', 'OAUTH_X', 'text'))[1]).toBe(
      'the answer of the provider of acme.example is refused: bad answer',
    )
  })
})

describe('a provider without an answer', () => {
  const inner = new Error('connect 10.0.0.1')
  it.each([
    ['that did not come', clientError('failed', undefined, inner), inner],
    ['that came too late', clientError('late', 'OAUTH_TIMEOUT', inner), inner],
    ['for another reason', new OAuthError('temporarily_unavailable', 'x'), undefined],
    ['since something failed', inner, inner],
  ])('%s is unavailable, and its address is not shown', (_, given, cause) => {
    const refusal = explain(given) as RpcError
    expect(refusal).toMatchObject({
      reason: 'company_unavailable',
      message: 'the provider of acme.example does not answer, or cannot be used',
      cause: cause ?? given,
    })
  })

  it('without a cause in the library has the error of the library itself', () => {
    const given = clientError('failed')
    expect(explain(given)).toMatchObject({ cause: given })
  })

  it('has no part in a refusal of this service', () => {
    const own = new RpcError('busy', 'x')
    expect(explain(own)).toBe(own)
    expect(explain('text')).toBe('text')
  })
})
