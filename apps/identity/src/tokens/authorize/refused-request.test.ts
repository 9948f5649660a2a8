/** The URL with which a browser returns to an app. */
import { OAuthError } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { answerUrl, RefusedRequest } from './refused-request.ts'

const issuer = 'https://identity.example'
const app = 'https://app.example/cb'

it.each<[string, string, string | undefined, string]>([
  [
    'with the state of the request',
    app,
    's & t',
    `${app}?code=c&state=s+%26+t&iss=https%3A%2F%2Fidentity.example`,
  ],
  ['without a state', app, undefined, `${app}?code=c&iss=https%3A%2F%2Fidentity.example`],
  ['with an empty state', app, '', `${app}?code=c&state=&iss=https%3A%2F%2Fidentity.example`],
  ['after a query', `${app}?a=1`, undefined, `${app}?a=1&code=c&iss=https%3A%2F%2Fidentity.example`],
])('an answer has the code and the issuer, %s', (_, redirectUri, state, expected) => {
  expect(answerUrl({ redirectUri, state }, issuer, { code: 'c' })).toBe(expected)
})

it('an error has its code, and a description in the characters that RFC 6749 allows', () => {
  const error = new OAuthError('invalid_scope', 'no "sc\\ope" é\n~ !')
  const { searchParams } = new URL(answerUrl({ redirectUri: app, state: 's' }, issuer, { error }))
  expect(Object.fromEntries(searchParams)).toEqual({
    error: 'invalid_scope',
    error_description: "no 'sc?ope' ??~ !",
    state: 's',
    iss: issuer,
  })
})

it('a refusal has the message of its error, and the error as its cause', () => {
  const error = new OAuthError('invalid_scope', 'no such scope')
  expect(new RefusedRequest(error)).toMatchObject({
    message: 'no such scope',
    cause: error,
    returnTo: undefined,
  })
})
