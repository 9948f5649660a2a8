import { expect, it } from 'vitest'
import { describeChanges } from './project-changes.ts'

const project = { name: 'Vans', scopes: ['openid'], active: true, accessLifetime: 3600 }

it('names each changed setting, before and after', () => {
  expect(describeChanges(project, { ...project, name: 'Trucks', active: false })).toBe(
    'name: Vans → Trucks; turned on: true → false',
  )
  expect(describeChanges(project, { ...project, scopes: [] })).toBe('permissions: ["openid"] → []')
})

it('describes leases in words', () => {
  const offline = { maxDays: 14, scopes: ['openid'] }
  expect(describeChanges({ ...project, offline: { maxDays: 0, scopes: [] } }, { ...project, offline })).toBe(
    'leases: no leases → leases of at most 14 days for openid',
  )
})

it('is the name of a project that was saved without a change', () => {
  expect(describeChanges(project, project)).toBe('Vans')
})

it('lets no setting look like another one', () => {
  expect(describeChanges(project, { ...project, name: 'a; active: x → y' })).toBe(
    'name: Vans → a, active: x -> y',
  )
})

it('is short, however long the settings are', () => {
  expect(describeChanges(project, { ...project, name: 'x'.repeat(10_000) }).length).toBeLessThan(600)
})
