/** The two grants that exchange a developer ID token and an edge ID token: how each reads its form. */
import type { TokenResponse } from '@selvedge/protocol'
import { developerIdProfile, edgeIdProfile } from '@selvedge/protocol/tokens'
import { beforeEach, describe, expect, it } from 'vitest'
import { outcomeOfAnswer } from '../../../../../tests/harness/grants.ts'
import type { Caller, Exchange, Grant } from './grant.ts'
import { createGrants } from './index.ts'

const caller: Caller = { address: '192.0.2.1', epoch: 1, prove: async () => undefined }
const issued: TokenResponse = { access_token: 't', token_type: 'Bearer', expires_in: 1, scope: 'openid' }
let exchanges: unknown[]
let grants: readonly Grant[]
beforeEach(() => {
  exchanges = []
  const exchange: Exchange = async (request, by) => {
    expect(by).toBe(caller)
    exchanges.push(request)
    return issued
  }
  grants = createGrants(exchange, {} as never)
})
const grantOf = (type: string): Grant => grants.find(({ grantType }) => grantType === type)!
const answer = async (type: string, form: Record<string, string | undefined>) =>
  grantOf(type).answer(
    new Map(Object.entries(form).filter((field): field is [string, string] => field[1] !== undefined)),
    caller,
  )

const read = { clientId: 'c', developerToken: 'd', edgeToken: 'e', scope: 'openid', resource: undefined }

it('the token endpoint has five grants, and each names what a refused token is', () => {
  expect(grants.map(({ grantType, tokenError }) => [grantType, tokenError])).toEqual([
    ['id_token_signin', 'invalid_grant'],
    ['urn:ietf:params:oauth:grant-type:token-exchange', 'invalid_request'],
    ['refresh_token', 'invalid_grant'],
    ['urn:ietf:params:oauth:grant-type:device_code', 'invalid_grant'],
    ['authorization_code', 'invalid_grant'],
  ])
})

describe('id_token_signin', () => {
  const type = 'id_token_signin'
  const form = { client_id: 'c', id_token: 'd', edge_id_token: 'e', scope: 'openid' }

  it('names both tokens in its own words', async () => {
    expect(await answer(type, form)).toBe(issued)
    await answer(type, { ...form, resource: 'https://backend.example' })
    expect(exchanges).toEqual([read, { ...read, resource: 'https://backend.example' }])
  })

  it.each(Object.keys(form))('needs the field %s', async (name) => {
    await expect(answer(type, { ...form, [name]: undefined })).rejects.toMatchObject({
      code: 'invalid_request',
      message: `the field "${name}" is missing`,
    })
    expect(exchanges).toEqual([])
  })

  it('names the field of each kind of token', () => {
    expect(grantOf(type).tokenFields).toEqual({
      [developerIdProfile.typ]: 'id_token',
      [edgeIdProfile.typ]: 'edge_id_token',
    })
  })
})

describe('the token exchange', () => {
  const type = 'urn:ietf:params:oauth:grant-type:token-exchange'
  const idToken = 'urn:ietf:params:oauth:token-type:id_token'
  const form = {
    client_id: 'c',
    subject_token: 'd',
    subject_token_type: idToken,
    actor_token: 'e',
    actor_token_type: idToken,
    scope: 'openid',
  }

  it('names both tokens in the words of RFC 8693, and the type that was issued', async () => {
    expect(await answer(type, form)).toEqual({
      ...issued,
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    })
    expect(exchanges).toEqual([read])
  })

  it.each([
    [{ resource: 'https://a.example' }, 'https://a.example'],
    [{ audience: 'https://b.example' }, 'https://b.example'],
    [{ resource: 'https://a.example', audience: 'https://b.example' }, 'https://a.example'],
  ])('with %j is for the resource %s', async (fields, resource) => {
    await answer(type, { ...form, ...fields })
    expect(exchanges).toEqual([{ ...read, resource }])
  })

  it.each(['access_token', 'jwt'])('issues an access token if %s is requested', async (name) => {
    const wanted = `urn:ietf:params:oauth:token-type:${name}`
    expect(await outcomeOfAnswer(() => answer(type, { ...form, requested_token_type: wanted }))).toBe(
      'accepted',
    )
  })

  it.each([
    ['requested_token_type', 'urn:ietf:params:oauth:token-type:refresh_token'],
    ['subject_token_type', 'urn:ietf:params:oauth:token-type:access_token'],
    ['actor_token_type', 'urn:ietf:params:oauth:token-type:access_token'],
  ])('is refused with another %s', async (name, value) => {
    await expect(answer(type, { ...form, [name]: value })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(`"${name}"`),
    })
    expect(exchanges).toEqual([])
  })

  it.each(Object.keys(form))('needs the field %s', async (name) => {
    await expect(answer(type, { ...form, [name]: undefined })).rejects.toMatchObject({
      code: 'invalid_request',
      message: `the field "${name}" is missing`,
    })
    expect(exchanges).toEqual([])
  })

  it('names the field of each kind of token', () => {
    expect(grantOf(type).tokenFields).toEqual({
      [developerIdProfile.typ]: 'subject_token',
      [edgeIdProfile.typ]: 'actor_token',
    })
  })
})
