/** What the operator reads of the provider of a company before people use it. */
import { expect, it } from 'vitest'
import type { Company } from '../../registry/people/companies.ts'
import { createTestCompany } from './test-company.ts'

const company = {
  ...{ domain: 'corp.example', clientAuth: 'client_secret' },
  rules: [{ claim: 'groups', value: 'staff', role: 'member' }],
} as unknown as Company
const good = {
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['client_secret_post'],
}

async function check(metadata: object | Error = good, keys: number | Error = 1, change: object = {}) {
  const tested = await createTestCompany({
    async readMetadata() {
      if (metadata instanceof Error) throw metadata
      return metadata as never
    },
    async readKeys() {
      if (keys instanceof Error) throw keys
      return keys
    },
    redirectUri: (domain) => `https://console.example/sign-in/${domain}/callback`,
  })({ ...company, ...change })
  return { ...tested, checks: Object.fromEntries(tested.checks.map(({ name, problem }) => [name, problem])) }
}
const ready = {
  ...{ metadata: null, 'authorization code': null, PKCE: null, 'client authentication': null },
  ...{ keys: null, rules: null },
}

it('a provider that supports what is needed is ready', async () => {
  const redirectUri = 'https://console.example/sign-in/corp.example/callback'
  expect(await check()).toEqual({ isReady: true, redirectUri, checks: ready })
  // RFC 8414 § 2: what is not stated has defaults.
  expect(await check({})).toEqual({ isReady: true, redirectUri, checks: ready })
  for (const method of ['none', 'private_key_jwt'] as const)
    expect(
      await check({ ...good, token_endpoint_auth_methods_supported: [method] }, 1, { clientAuth: method }),
    ).toMatchObject({ isReady: true })
})

it.each<[metadata: object, name: string, problem: string]>([
  [
    { response_types_supported: ['id_token'] },
    'authorization code',
    'the provider does not support the response type "code"',
  ],
  [{ code_challenge_methods_supported: ['plain'] }, 'PKCE', 'the provider does not support PKCE with S256'],
  [
    { token_endpoint_auth_methods_supported: ['private_key_jwt'] },
    'client authentication',
    'the provider does not support client_secret_basic or client_secret_post',
  ],
])('a provider with %j lacks something', async (metadata, name, problem) => {
  expect(await check({ ...good, ...metadata })).toMatchObject({
    isReady: false,
    checks: { ...ready, [name]: problem },
  })
})

it('the method of the company itself must be supported', async () => {
  const { checks } = await check(good, 1, { clientAuth: 'private_key_jwt' })
  expect(checks['client authentication']).toBe('the provider does not support private_key_jwt')
})

it('a provider that does not answer is named with the cause, shortened', async () => {
  const { isReady, checks } = await check(new Error(`no answer ${'x'.repeat(400)}`), new Error('no keys'))
  expect(isReady).toBe(false)
  expect(checks).toEqual({ metadata: `no answer ${'x'.repeat(290)}`, keys: 'no keys', rules: null })
})

it('a provider without usable keys, and a company without rules, let no person in', async () => {
  expect((await check(good, 0)).checks.keys).toBe('the provider publishes no key that can be used')
  expect(await check(good, 1, { rules: [] })).toMatchObject({
    isReady: false,
    checks: { rules: 'there is no rule, so no person gets access' },
  })
})
