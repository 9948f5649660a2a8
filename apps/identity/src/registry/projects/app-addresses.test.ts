import type { AppType } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { isClaimed, isRegistered, originProblem, redirectUriProblem } from './app-addresses.ts'

describe('a redirect URI', () => {
  it.each<[AppType, string]>([
    ['web', 'https://app.example/cb'],
    ['web', 'https://app.example/'],
    ['web', 'https://app.example:8443/cb?tenant=7'],
    ['web', 'https://xn--bcher-kva.example/cb'],
    ['web', 'http://localhost:3000/cb'],
    ['browser', 'http://127.0.0.1:5173/cb'],
    ['native', 'http://127.0.0.1/cb'],
    ['native', 'http://[::1]/cb'],
    ['native', 'com.example2.app3:/cb'],
    ['web', 'https://app.example/x://y@z'],
    ['native', 'com.example.app:/cb'],
    ['native', 'com.example.app://cb'],
    ['native', 'https://app.example/claimed'],
  ])('of a %s app may be %s', (appType, uri) => {
    expect(redirectUriProblem(uri, appType)).toBeUndefined()
  })

  it.each<[AppType, string, RegExp]>([
    ['web', 'https://app.example', /normal form: write "https:\/\/app.example\/"/],
    ['web', 'https://app.example/cb#x', /fragment/],
    ['web', 'https://app.example/cb#', /fragment/],
    ['web', 'https://*.example/cb', /wildcard/],
    ['web', 'https://app.example/*', /wildcard/],
    ['web', 'https://me@app.example/cb', /user name/],
    ['web', 'https://me:secret@app.example/cb', /user name/],
    ['web', 'https://@app.example/cb', /user name/],
    ['web', 'https:me@app.example/cb', /normal form/],
    ['native', 'com.2x.app://me@host/cb', /user name/],
    ['native', 'x+com.example.app:/cb', /domain name in reverse/],
    ['web', 'https://app.example/cb?error=x', /"error"/],
    ['web', 'https://app.example/cb?error_description=x', /"error_description"/],
    ['web', 'https://app.example/a/../cb', /normal form/],
    ['web', 'https://app.example/a/%2e%2e/cb', /normal form/],
    ['web', 'https://APP.example/cb', /normal form/],
    ['web', 'https://app.example:443/cb', /normal form/],
    ['web', 'https://bücher.example/cb', /character/],
    ['web', 'https://app.example\\cb', /character/],
    ['web', 'https://app.example/a b', /character/],
    ['web', 'https://app.example/cb\n', /character/],
    ['web', 'https://app.example/<script>', /character/],
    ['web', 'https://app.example/cb?code=x', /"code"/],
    ['web', 'https://app.example/cb?a=1&state=x', /"state"/],
    ['web', 'https://app.example/cb?iss=x', /"iss"/],
    ['web', 'https://app.example/cb?%63ode=x', /"code"/],
    ['web', 'http://app.example/cb', /not https/],
    ['web', 'http://localhost.example/cb', /not https/],
    ['web', 'http://127.0.0.1.example/cb', /not https/],
    ['web', 'com.example.app:/cb', /not https/],
    ['browser', 'com.example.app:/cb', /not https/],
    ['native', 'http://app.example/cb', /not https/],
    ['native', 'http://192.168.1.2/cb', /not https/],
    ['native', 'http://2130706433/cb', /normal form/],
    ['native', 'myapp:/cb', /domain name in reverse/],
    ['native', 'com.example.app:cb', /domain name in reverse/],
    ['native', 'javascript:alert(1)', /domain name in reverse|character/],
    ['native', 'javascript:/alert', /domain name in reverse/],
    ['native', 'data:text/html,x', /domain name in reverse/],
    ['native', 'file:///etc/passwd', /domain name in reverse/],
    ['native', 'intent://scan/', /domain name in reverse/],
    ['web', '/cb', /absolute/],
    ['web', '//app.example/cb', /absolute/],
    ['web', '', /character/],
  ])('of a %s app may not be %s', (appType, uri, problem) => {
    expect(redirectUriProblem(uri, appType)).toMatch(problem)
  })
})

describe('an origin', () => {
  it.each(['https://app.example', 'https://app.example:8443', 'http://localhost:3000', 'http://[::1]:3000'])(
    'may be %s',
    (origin) => expect(originProblem(origin)).toBeUndefined(),
  )
  it.each([
    'null',
    '*',
    'https://*.example',
    'https://app.example/',
    'https://app.example:443',
    'https://APP.example',
    'https://me@app.example',
    'http://app.example',
    'http://10.0.0.1',
    'com.example.app://x',
    'file://',
    '',
  ])('may not be %s', (origin) => expect(originProblem(origin)).toEqual(expect.any(String)))
})

describe('the redirect URI of a request', () => {
  const registered = ['http://127.0.0.1/cb', 'http://[::1]:4000/cb', 'http://localhost:3000/cb']
  it.each<[string, AppType, boolean]>([
    ['http://127.0.0.1/cb', 'native', true],
    ['http://127.0.0.1:1/cb', 'native', true],
    ['http://127.0.0.1:65535/cb', 'native', true],
    ['http://[::1]/cb', 'native', true],
    ['http://[::1]:9/cb', 'native', true],
    ['http://localhost:3000/cb', 'native', true],
    ['http://localhost:3001/cb', 'native', false],
    ['http://127.0.0.1:65536/cb', 'native', false],
    ['http://127.0.0.1:0/cb', 'native', false],
    ['http://127.0.0.1:01/cb', 'native', false],
    ['http://127.0.0.1:/cb', 'native', false],
    ['http://127.0.0.1:1/cb/', 'native', false],
    ['http://127.0.0.1:1@evil.example/cb', 'native', false],
    ['http://127.0.0.1:1/cb', 'web', false],
    ['http://127.0.0.1:1/cb', 'browser', false],
    ['https://127.0.0.1:1/cb', 'native', false],
  ])('%s of a %s app is registered: %s', (uri, appType, expected) => {
    expect(isRegistered(uri, registered, appType)).toBe(expected)
  })
})

it('only a program with an own host name claims its redirect URI', () => {
  expect(isClaimed('https://app.example/cb')).toBe(true)
  expect(['http://127.0.0.1/cb', 'com.example.app:/cb', 'com.example.app:/https://'].map(isClaimed)).toEqual([
    ...[false, false, false],
  ])
})

it('only the port of a loopback address may differ, not one in the path of another URI', () => {
  const uri = (port: number) => `com.example.app:/http://127.0.0.1:${port}/cb`
  expect(isRegistered(uri(1), [uri(2)], 'native')).toBe(false)
})

it('the reason for an origin depends on whether it has the form of one', () => {
  expect(originProblem('https://app.example/')).toBe(
    'it is not an origin as browsers send it, such as https://app.example',
  )
  expect(originProblem('http://app.example')).toBe('it is not https, and not of this device')
  expect(originProblem('ws://localhost')).toBe('it is not https, and not of this device')
})
