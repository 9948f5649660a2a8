import { expect, it } from 'vitest'
import { openTenants } from './tenants.ts'

it('opens each issuer once, the cloud among them, so that a notice about one is not cleared by another', async () => {
  const asked: string[] = []
  const raised = new Set<string>()
  const tenants = openTenants({
    issuers: ['https://a.example', 'https://b.example'],
    cloud: 'https://c.example',
    state: { value: { keySets: {} }, update: async () => undefined } as never,
    clock: { now: () => 0 } as never,
    notices: {
      raise: (reason: string) => raised.add(reason),
      clear: (reason: string) => raised.delete(reason),
    } as never,
    getJson: async (url) => {
      asked.push(new URL(url).host)
      // What a is answers with cannot be read as keys.
      if (url.startsWith('https://a.')) return { keys: 'none' }
      return url.endsWith('jwks')
        ? { keys: [] }
        : { issuer: new URL(url).origin, jwks_uri: `${new URL(url).origin}/jwks` }
    },
  })
  expect(tenants.issuers.map(({ issuer }) => issuer)).toEqual(['https://a.example', 'https://b.example'])
  expect(tenants.cloud.issuer).toBe('https://c.example')
  for (const each of [...tenants.issuers, tenants.cloud]) await each.refresh()
  expect([...raised]).toEqual(['keys_refused'])
})

it('gives the issuer that is the cloud as well as both, opened once', () => {
  let opened = 0
  const state = {
    get value() {
      opened++
      return { keySets: {} }
    },
  }
  const issuer = 'https://a.example'
  openTenants({
    issuers: [issuer],
    cloud: issuer,
    state,
    clock: { now: () => 0 },
    notices: {},
    getJson: async () => ({}),
  } as never)
  expect(opened).toBe(1)
})
