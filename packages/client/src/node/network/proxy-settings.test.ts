import { describe, expect, it } from 'vitest'
import { NetworkSettingError } from './network-failure.ts'
import { type ProxySettings, readProxySettings } from './proxy-settings.ts'

const unset = { proxy: '', noProxy: [], env: {} }
const proxyOf = (settings: Partial<ProxySettings>, url = 'https://a.example') =>
  readProxySettings({ ...unset, ...settings })(new URL(url))
const urlOf = (settings: Partial<ProxySettings>, url?: string) => proxyOf(settings, url)?.url.href

const proxy = 'http://proxy.example:3128'
const http = 'http://a.example'

describe('the proxy of a URL', () => {
  it('is not set if neither an option nor the environment has one', () => expect(proxyOf({})).toBeUndefined())

  it('is that of the option, for http and https', () => {
    expect(urlOf({ proxy })).toBe(`${proxy}/`)
    expect(urlOf({ proxy }, http)).toBe(`${proxy}/`)
    expect(urlOf({ proxy: 'https://proxy.example' })).toBe('https://proxy.example/')
  })

  it.each([
    [{ HTTPS_PROXY: proxy }, `${proxy}/`, undefined],
    [{ https_proxy: proxy }, `${proxy}/`, undefined],
    [{ HTTP_PROXY: proxy }, undefined, `${proxy}/`],
    [{ http_proxy: proxy, HTTP_PROXY: 'http://other.example' }, undefined, `${proxy}/`],
    [{ HTTPS_PROXY: 'proxy.example:3128' }, `${proxy}/`, undefined],
    [{ HTTPS_PROXY: '' }, undefined, undefined],
  ])('is that of the environment %j', (env, forHttps, forHttp) => {
    expect(urlOf({ env })).toBe(forHttps)
    expect(urlOf({ env }, http)).toBe(forHttp)
  })

  it('is that of the option where the environment has another one', () =>
    expect(urlOf({ proxy, env: { HTTPS_PROXY: 'http://other.example' } })).toBe(`${proxy}/`))

  it('is not used with "direct", whatever the environment has', () =>
    expect(proxyOf({ proxy: 'direct', env: { HTTPS_PROXY: proxy } })).toBeUndefined())

  it('is not used for hosts of the option, or else of the environment', () => {
    const env = { NO_PROXY: 'b.example, a.example 10.0.0.0/8,192.168.*' }
    expect(urlOf({ proxy, env })).toBeUndefined()
    expect(urlOf({ proxy, env }, 'https://10.1.1.1')).toBeUndefined()
    expect(urlOf({ proxy, env: { no_proxy: 'a.example' } })).toBeUndefined()
    expect(urlOf({ proxy, noProxy: ['c.example'], env })).toBe(`${proxy}/`)
    expect(urlOf({ proxy, noProxy: ['c.example'], env }, 'https://c.example')).toBeUndefined()
  })

  it('is not used for this machine', () => {
    expect(urlOf({ proxy }, 'http://localhost:8084')).toBeUndefined()
    expect(urlOf({ proxy }, 'https://[::1]')).toBeUndefined()
  })
})

describe('a user name and password', () => {
  it('of the environment are no part of the URL of the proxy', () => {
    const found = proxyOf({ env: { HTTPS_PROXY: 'http://me:p%40ss%3A@proxy.example:3128' } })
    expect(found).toEqual({ url: new URL(proxy), credentials: 'me:p@ss:' })
  })

  it('of the option are refused, and not shown', () => {
    const open = () => readProxySettings({ ...unset, proxy: 'http://me:secret@proxy.example' })
    expect(open).toThrow('put them into the file of network.proxyAuthFile')
    expect(open).not.toThrow('secret')
  })
})

describe('a setting that cannot be used', () => {
  it.each([
    ['socks5://proxy.example', 'socks is not supported'],
    ['http://proxy.example/path', 'expected nothing after the port'],
    ['http://proxy.example/?a', 'expected nothing after the port'],
    ['http://', 'expected an http or https URL'],
    [`http://${'a'.repeat(2048)}.example`, 'expected an http or https URL'],
    ['file:///etc', 'expected an http or https URL'],
  ])('such as the proxy %s is an error', (text, message) => {
    expect(() => readProxySettings({ ...unset, proxy: text })).toThrow(NetworkSettingError)
    expect(() => readProxySettings({ ...unset, proxy: text })).toThrow(message)
  })

  it('of the environment is an error with the name of the variable, without a password', () => {
    const open = () =>
      readProxySettings({ ...unset, env: { HTTPS_PROXY: 'socks5://me:secret@proxy.example' } })
    expect(open).toThrow('the environment variable HTTPS_PROXY is "socks5://***@proxy.example"')
    const encoded = () => readProxySettings({ ...unset, env: { HTTPS_PROXY: 'http://%ff:x@proxy.example' } })
    expect(encoded).toThrow('not percent-encoded')
  })

  it.each([
    'http://me:se/cret@proxy.example:3128',
    'http://me:1/cret@proxy.example:3128',
    'http://me:se#cret@proxy.example:3128',
    'http://me:se?cret@proxy.example:3128',
    'me:se/cret@proxy.example:3128',
    'me:se//cret@proxy.example:3128',
    'socks5://me:se@cret@proxy.example',
    'http://me:cret@proxy.example/path',
    'http:/me:cret@proxy.example:99999',
  ])('such as %s never shows the password', (HTTPS_PROXY) => {
    const open = () => readProxySettings({ ...unset, env: { HTTPS_PROXY } })
    expect(open).toThrow('***@proxy.example')
    expect(open).not.toThrow('cret')
  })

  it('such as an entry of noProxy is an error', () =>
    expect(() => readProxySettings({ ...unset, proxy, noProxy: ['192.168.*'] })).toThrow(
      'network.noProxy has "192.168.*"; expected',
    ))
})
