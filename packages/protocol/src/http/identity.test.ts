import { describe, expect, it } from 'vitest'
import { readKeySetUrl } from './identity.ts'

const metadata = (issuer: string, jwks_uri: string) => ({
  issuer,
  token_endpoint: `${issuer}/token`,
  jwks_uri,
})

describe('the URL of a key set', () => {
  it.each([
    ['https://id.example', 'https://id.example/jwks'],
    ['https://id.example', 'https://keys.example/jwks'],
    ['http://127.0.0.1:8081', 'http://127.0.0.1:8081/jwks'],
    ['http://127.0.0.1:8081', 'https://keys.example/jwks'],
  ])('of %s may be %s', (issuer, url) => {
    expect(readKeySetUrl(metadata(issuer, url), issuer)).toBe(url)
  })

  it.each([
    'http://id.example/jwks',
    'file:///etc/passwd',
    'data:application/json,{"keys":[]}',
    'https://ada:secret@id.example/jwks',
    '/jwks',
    '',
  ])('of an issuer with TLS may not be %j', (url) => {
    const issuer = 'https://id.example'
    expect(() => readKeySetUrl(metadata(issuer, url), issuer)).toThrow('jwks_uri of https://id.example')
  })

  it('is refused in the metadata of another issuer', () => {
    const other = metadata('https://other.example', 'https://other.example/jwks')
    expect(() => readKeySetUrl(other, 'https://id.example')).toThrow('calls itself https://other.example')
  })
})
