/** The URLs by which this service names itself: in tokens, to people, and in its Host check. */
import type { IdentityConfig } from '../config.ts'

export interface Urls {
  /** What tokens name as their issuer; empty until the service listens, unless it is configured. */
  issuer(): string
  /** Where people find the console: passkeys need a host name, which a loopback address is not. */
  console(): string
  /** Host names under which requests are accepted, beside localhost and IP addresses. */
  hosts(): string[]
  /** Sets the URL at which the service listens. */
  listen(url: string): void
}

export function createUrls(config: Pick<IdentityConfig, 'issuer' | 'console.url' | 'listen.hosts'>): Urls {
  let issuer = config.issuer
  /** Asked for with each request; they change when the service listens. */
  let hosts: string[] | undefined
  const consoleUrl = () =>
    config['console.url'] || issuer.replace(/^http:\/\/(?:127\.0\.0\.1|\[::1\])(?=:|$)/, 'http://localhost')
  return {
    issuer: () => issuer,
    console: consoleUrl,
    hosts: () =>
      (hosts ??= [...[issuer, consoleUrl()].map((url) => new URL(url).hostname), ...config['listen.hosts']]),
    listen(url) {
      issuer ||= url
      hosts = undefined
    },
  }
}
