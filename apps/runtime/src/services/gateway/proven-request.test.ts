/** What a proof of a request must be about. */
import type { IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { provenRequest } from './proven-request.ts'

const of = (request: object) => provenRequest(request as IncomingMessage)

it('is its method, host and path without the query, with the token and the proof that it has', () => {
  expect(
    of({
      headers: { authorization: 'DPoP token', dpop: 'proof', host: 'device:8080' },
      method: 'PUT',
      url: '/c/web?a=b?c',
    }),
  ).toEqual({
    shown: { scheme: 'DPoP', token: 'token' },
    dpop: 'proof',
    host: 'device:8080',
    method: 'PUT',
    path: '/c/web',
  })
})

it('is empty where the request states nothing', () => {
  expect(of({ headers: {} })).toEqual({ shown: undefined, dpop: undefined, host: '', method: '', path: '' })
})
