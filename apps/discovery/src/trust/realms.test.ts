/** An issuer speaks for its own accounts alone. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { accountIdOf, createRealms } from './realms.ts'

const own = 'https://identity.example'
const [first, second] = ['https://first.example', 'https://second.example']
const realms = (more: { trustedEdgeIssuers?: string[]; trustedTenants?: string[] } = {}) =>
  createRealms({ 'identity.url': own, trustedEdgeIssuers: [], trustedTenants: [], ...more })

describe('accounts', () => {
  it('of one issuer are known by their IDs', () => {
    const { ofTenant, ofEdgeIssuer, tenants, edgeIssuers } = realms()
    expect([ofTenant(own, 'a'), ofEdgeIssuer(own, 'a'), tenants, edgeIssuers]).toEqual([
      'a',
      'a',
      [own],
      [own],
    ])
  })

  it('of two issuers that use the same ID are not the same', () => {
    const { ofTenant, ofEdgeIssuer } = realms({
      trustedTenants: [first, second],
      trustedEdgeIssuers: [first, second],
    })
    expect(ofEdgeIssuer(first, 'a')).toBe(ofTenant(first, 'a'))
    expect(ofEdgeIssuer(second, 'a')).toBe(ofTenant(second, 'a'))
    expect(ofEdgeIssuer(second, 'a')).not.toBe(ofTenant(first, 'a'))
    expect(accountIdOf(ofTenant(second, 'a'))).toBe('a')
  })

  it('of a second issuer have a digest of it in the keys that are stored, and the form of the keys stays', () => {
    const { ofTenant } = realms({ trustedTenants: [first, second], trustedEdgeIssuers: [first] })
    const digest = createHash('sha256').update(second).digest('base64url').slice(0, 16)
    expect([ofTenant(first, 'a.b-c_1'), ofTenant(second, 'a')]).toEqual(['a.b-c_1', `a@${digest}`])
    expect(ofTenant(first, 'a'.repeat(128))).toHaveLength(128)
    expect(() => ofTenant(first, 'a'.repeat(129))).toThrow('in a form that no account has')
  })

  it('of a tenant are stated by the issuer of edge ID tokens that the configuration names for it', () => {
    const cloud = 'https://cloud.example'
    expect(realms({ trustedEdgeIssuers: [cloud], trustedTenants: [first] }).ofEdgeIssuer(cloud, 'a')).toBe(
      'a',
    )
    const both = realms({
      trustedEdgeIssuers: [`${cloud}=${second}`, first],
      trustedTenants: [first, second],
    })
    expect(both.edgeIssuers).toEqual([cloud, first])
    expect(both.ofEdgeIssuer(cloud, 'a')).toBe(both.ofTenant(second, 'a'))
    expect(both.ofEdgeIssuer(first, 'a')).toBe(both.ofTenant(first, 'a'))
  })

  it('stay what they are when a tenant is added', () => {
    expect(realms({ trustedTenants: [first, own] }).ofTenant(own, 'a')).toBe(realms().ofTenant(own, 'a'))
  })

  it.each(['', 'a b', 'a@b', `a@${'x'.repeat(16)}`, 'x'.repeat(129), 'a}b', 'a\n'])(
    'have no ID like %j',
    (id) => {
      const { ofTenant, ofEdgeIssuer } = realms({ trustedTenants: [own, second] })
      expect(() => ofTenant(own, id)).toThrow('in a form that no account has')
      expect(() => ofEdgeIssuer(own, id)).toThrow('in a form that no account has')
    },
  )

  it('of an issuer that is not trusted do not exist', () => {
    expect(() => realms().ofTenant(second, 'a')).toThrow()
    expect(() => realms().ofEdgeIssuer(second, 'a')).toThrow()
  })
})

describe('a configuration', () => {
  it('that does not say for which of two tenants an issuer speaks is refused with what to write', () => {
    expect(() =>
      realms({ trustedEdgeIssuers: ['https://cloud.example'], trustedTenants: [first, second] }),
    ).toThrow(/"https:\/\/cloud.example=<one of /)
  })

  it('that names a tenant that is not trusted is refused', () => {
    expect(() => realms({ trustedEdgeIssuers: [`${first}=${second}`], trustedTenants: [first] })).toThrow(
      /not among trustedTenants/,
    )
  })
})
