import { describe, expect, it } from 'vitest'
import { createUrls } from './urls.ts'

const urls = (issuer = '', consoleUrl = '', hosts: string[] = []) =>
  createUrls({ issuer, 'console.url': consoleUrl, 'listen.hosts': hosts })

describe('the service names itself', () => {
  it('by its configuration', () => {
    const of = urls('https://id.example', 'https://console.example', ['internal.example'])
    of.listen('http://127.0.0.1:8084')
    expect(of.issuer()).toBe('https://id.example')
    expect(of.console()).toBe('https://console.example')
    expect(of.hosts()).toEqual(['id.example', 'console.example', 'internal.example'])
    expect(of.hosts()).toBe(of.hosts())
  })

  it('by where it listens, if nothing is configured', () => {
    const of = urls()
    expect([of.issuer(), of.console()]).toEqual(['', ''])
    of.listen('http://127.0.0.1:8084')
    expect(of.issuer()).toBe('http://127.0.0.1:8084')
    expect(of.hosts()).toEqual(['127.0.0.1', 'localhost'])
    of.listen('http://127.0.0.1:9999')
    expect(of.issuer()).toBe('http://127.0.0.1:8084')
  })

  it('again when it listens', () => {
    const of = urls('https://id.example')
    const before = of.hosts()
    of.listen('x')
    expect(of.hosts()).not.toBe(before)
    expect(of.hosts()).toEqual(before)
  })

  it.each([
    ['http://127.0.0.1:8084', 'http://localhost:8084'],
    ['http://127.0.0.1', 'http://localhost'],
    ['http://[::1]:8084', 'http://localhost:8084'],
    ['https://127.0.0.1:8084', 'https://127.0.0.1:8084'],
    ['http://127.0.0.1.example', 'http://127.0.0.1.example'],
    ['http://127.0.0.12:80', 'http://127.0.0.12:80'],
    ['http://192.0.2.1:80', 'http://192.0.2.1:80'],
  ])('to browsers with a host name, which passkeys need: %s is %s', (issuer, console) => {
    expect(urls(issuer).console()).toBe(console)
  })
})
