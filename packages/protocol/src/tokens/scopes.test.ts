import { expect, it } from 'vitest'
import { hasScope, isScope, scopeNames, usualScopes } from './scopes.ts'

it('a scope is one of the list', () => {
  for (const scope of scopeNames) expect(isScope(scope)).toBe(true)
  for (const text of ['', 'edge:mcm ', 'EDGE:MCM', 'constructor', 'toString'])
    expect(isScope(text)).toBe(false)
})

it('a list has a scope if it is one of its words', () => {
  expect(hasScope('openid edge:mcm', 'edge:mcm')).toBe(true)
  for (const list of ['', 'openid', 'edge:mcm2', 'xedge:mcm', 'edge:mcm,openid', 'edge'])
    expect(hasScope(list, 'edge:mcm')).toBe(false)
})

it('a project that names no scopes has all but the one for refresh tokens', () => {
  expect(scopeNames).toContain('offline_access')
  expect(usualScopes).toEqual(scopeNames.filter((scope) => scope !== 'offline_access'))
  expect(usualScopes).toEqual([
    'openid',
    'edge:mcm',
    'edge:clusters',
    'edge:account:associate',
    'edge:account:unassociate',
  ])
})
