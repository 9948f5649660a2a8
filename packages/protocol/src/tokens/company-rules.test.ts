import { describe, expect, it } from 'vitest'
import { companyLimits, domainOf, domainProblem, roleOf, rulesProblem } from './company-rules.ts'

const label = 'a'.repeat(63)

describe('a domain', () => {
  it.each([
    'example.com',
    'a.b',
    'a.b.c.d',
    '1.example',
    '0-0.example',
    'a--b.xn--p1ai',
    `${label}.${label}`,
    'a.b9',
    'a.b-9',
  ])('%s is one', (domain) => {
    expect(domainProblem(domain)).toBeUndefined()
  })

  it.each([
    '',
    'com',
    '.',
    '.com',
    'example.',
    'example..com',
    'Example.com',
    'example.COM',
    '-a.com',
    'a-.com',
    'a.-com',
    'a.com-',
    'a.9',
    '192.0.2.1',
    'a_b.com',
    'a b.com',
    'bücher.example',
    'example.com\n',
    ' example.com',
    `${label}a.com`,
    `a.${label}a`,
    'ada@example.com',
    'example.com:443',
  ])('%j is refused', (domain) => {
    expect(domainProblem(domain)).toContain('not a domain name in lower case')
  })

  it('has at most 253 characters', () => {
    const longest = `${`${'a'.repeat(49)}.`.repeat(5)}com`
    expect(longest).toHaveLength(companyLimits.domainLength)
    expect(domainProblem(longest)).toBeUndefined()
    expect(domainProblem(`a${longest}`)).toBe('it has more than 253 characters')
  })
})

it.each([
  ['ada@example.com', 'example.com'],
  ['Ada@Example.COM', 'example.com'],
  ['"a@b"@example.com', 'example.com'],
  [' Example.com ', 'example.com'],
  ['', ''],
])('the domain of %j is %j', (address, domain) => {
  expect(domainOf(address)).toBe(domain)
})

describe('rules', () => {
  const member = { claim: 'groups', value: 'staff', role: 'member' } as const
  const owner = { claim: 'groups', value: 'admins', role: 'owner' } as const

  it('have the problem of the first that has one', () => {
    expect(rulesProblem([])).toBeUndefined()
    expect(rulesProblem([member, owner])).toBeUndefined()
    expect(rulesProblem([member, { ...owner, value: '*' }, { ...owner, claim: 'iss' }])).toContain('groups=*')
  })

  it('give the stronger role of those that fit, in any order', () => {
    const both = { groups: ['staff', 'admins'] }
    expect(roleOf([member, owner], both)).toBe('owner')
    expect(roleOf([owner, member], both)).toBe('owner')
    expect(roleOf([member, owner], { groups: ['admins'] })).toBe('owner')
    expect(roleOf([owner, member], { groups: 'staff' })).toBe('member')
  })

  it('give no role without one that fits', () => {
    expect(roleOf([member, owner], { groups: ['guests'] })).toBeUndefined()
    expect(roleOf([member, owner], {})).toBeUndefined()
    expect(roleOf([], { groups: ['staff'] })).toBeUndefined()
  })
})
