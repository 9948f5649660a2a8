/** What of a provider's metadata is believed, and for how long. */
import { createFakeClock } from '@selvedge/service-kit/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import { directNetwork } from '../../../../../tests/harness/direct-network.ts'
import { createReadMetadata, type ReadMetadata } from './metadata.ts'

const clock = createFakeClock()
const start = clock.now()
const issuer = 'https://login.acme.example/tenant'
const good = {
  issuer,
  authorization_endpoint: 'https://login.acme.example/authorize?x=y',
  token_endpoint: 'https://login.acme.example/token',
  jwks_uri: 'https://keys.acme.example/jwks',
}
const company = { issuer, allowsPrivate: false }
let published: unknown
let fetched: string[]
let read: ReadMetadata
beforeEach(() => {
  clock.set(start)
  published = good
  fetched = []
  read = createReadMetadata({
    clock,
    network: directNetwork,
    getterOf: (allowsPrivate) => async (url) => {
      fetched.push(`${allowsPrivate ? 'private ' : ''}${url}`)
      if (published instanceof Error) throw published
      return published
    },
  })
})
const problem = (json: unknown, of = company) => {
  published = json
  return read(of).then(
    () => undefined,
    (cause: Error) => cause.message,
  )
}

describe('the metadata of a provider', () => {
  it('are at its issuer', async () => {
    expect(await read(company)).toBe(good)
    expect(fetched).toEqual([`${issuer}/.well-known/openid-configuration`])
  })

  it('are at an issuer with a slash at its end without two of them', async () => {
    const of = { ...company, issuer: `${issuer}/` }
    published = { ...good, issuer: of.issuer }
    await read(of)
    expect(fetched).toEqual([`${issuer}/.well-known/openid-configuration`])
  })

  it('serve for ten minutes, then they are fetched again', async () => {
    await read(company)
    clock.advance(599_999)
    await read(company)
    expect(fetched).toHaveLength(1)
    clock.advance(1)
    await read(company)
    expect(fetched).toHaveLength(2)
    // A clock that was set back shows no age.
    clock.advance(-600_000)
    await read(company)
    expect(fetched).toHaveLength(3)
  })

  it('serve for a day while the provider does not answer', async () => {
    await read(company)
    published = new Error('no answer')
    clock.advance(86_399_999)
    expect(await read(company)).toBe(good)
    expect(fetched).toHaveLength(2)
    clock.advance(1)
    await expect(read(company)).rejects.toThrow('no answer')
  })

  it('are fetched once for many that wait, and of a private network on their own', async () => {
    await Promise.all([read(company), read(company)])
    expect(fetched).toHaveLength(1)
    await read({ ...company, allowsPrivate: true })
    expect(fetched[1]).toBe(`private ${fetched[0]}`)
  })
})

describe('metadata are refused', () => {
  it.each([
    [{ ...good, issuer: `${issuer}/` }, `the metadata are of the issuer "${issuer}/", not of ${issuer}`],
    [{}, `the metadata are of the issuer missing, not of ${issuer}`],
    [null, `the metadata are of the issuer missing, not of ${issuer}`],
    [{ ...good, token_endpoint: undefined }, '"token_endpoint" of the metadata is missing, not a URL'],
    [{ ...good, jwks_uri: 'x' }, '"jwks_uri" of the metadata is "x", not a URL'],
    [
      { ...good, authorization_endpoint: 'http://login.acme.example' },
      '"authorization_endpoint" of the metadata is "http://login.acme.example", which does not begin with https://',
    ],
    [
      { ...good, authorization_endpoint: 'javascript:alert(1)' },
      '"authorization_endpoint" of the metadata is "javascript:alert(1)", which does not begin with https://',
    ],
    [
      { ...good, token_endpoint: 'https://u@a.example' },
      '"token_endpoint" of the metadata is "https://u@a.example", with a user name or a fragment',
    ],
    [
      { ...good, token_endpoint: 'https://:p@a.example' },
      '"token_endpoint" of the metadata is "https://:p@a.example", with a user name or a fragment',
    ],
    [
      { ...good, jwks_uri: 'https://a.example#b' },
      '"jwks_uri" of the metadata is "https://a.example#b", with a user name or a fragment',
    ],
    [
      { ...good, token_endpoint: 'http://localhost/token' },
      '"token_endpoint" of the metadata is "http://localhost/token", which does not begin with https://',
    ],
  ])('%#', async (json, message) => {
    expect(await problem(json)).toBe(message)
  })

  it('with a URL of more than 2000 characters', async () => {
    const long = (length: number) => 'https://a.example/'.padEnd(length, 'x')
    expect(await problem({ ...good, jwks_uri: long(2000) })).toBeUndefined()
    clock.advance(600_000)
    published = { ...good, jwks_uri: long(2001) }
    // The ones from before serve, as if the provider had not answered.
    expect(await read(company)).toMatchObject({ jwks_uri: long(2000) })
    expect(await problem(published, { ...company, allowsPrivate: true })).toMatch(/^"jwks_uri" .*not a URL$/)
  })

  it('with plain HTTP to another machine, also where private networks are allowed', async () => {
    const own = { ...company, allowsPrivate: true }
    for (const host of ['localhost', '127.0.0.1', '[::1]']) {
      expect(await problem({ ...good, token_endpoint: `http://${host}:8080/token` }, own)).toBeUndefined()
      clock.advance(86_400_000)
    }
    for (const url of ['http://192.168.0.1/token', 'ftp://localhost/token'])
      expect(await problem({ ...good, token_endpoint: url }, own)).toMatch(/does not begin with https/)
  })
})
