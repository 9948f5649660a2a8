import { expect, it } from 'vitest'
import { isRegistryHost, placesOf, readMirrorRule } from './mirrors.ts'

const hub = 'registry-1.docker.io'

it.each([
  ['docker.io=mirror.example', { of: hub, mirror: 'mirror.example', path: '' }],
  ['registry-1.docker.io=localhost:5000', { of: hub, mirror: 'localhost:5000', path: '' }],
  ['a.example:5000=b.example/x/y', { of: 'a.example:5000', mirror: 'b.example', path: 'x/y/' }],
  ['a.example=docker.io', { of: 'a.example', mirror: hub, path: '' }],
])('reads the rule %s', (text, rule) => {
  expect(readMirrorRule(text)).toEqual(rule)
})

it.each([
  '',
  '=',
  'docker.io',
  'docker.io=',
  '=mirror.example',
  'docker.io=mirror',
  'hub=mirror.example',
  'docker.io=mirror.example=x',
  'docker.io/library=mirror.example',
  'docker.io=https://mirror.example',
  'docker.io=mirror.example/',
  'docker.io=mirror.example/../x',
  'docker.io=mirror.example/X',
  'docker.io=me:secret@mirror.example',
  'docker.io=mirror.example:99999',
])('refuses the rule %j', (text) => {
  expect(readMirrorRule(text)).toBeUndefined()
})

it.each([
  ['registry.example', true],
  ['registry.local:5000', true],
  ['10.0.0.1:5000', true],
  ['localhost', true],
  ['docker.io', true],
  ['', false],
  ['registry', false],
  ['registry.example/', false],
  ['registry.example/team', false],
  ['https://registry.example', false],
  ['*', false],
  ['*.example', false],
])('knows whether %j is the host of a registry', (text, expected) => {
  expect(isRegistryHost(text)).toBe(expected)
})

it('mirrors of the registry come first, in their order, and those of others not at all', () => {
  const rules = ['docker.io=one.example/hub', 'a.example=other.example', 'docker.io=two.example']
  expect(placesOf({ registry: hub, repository: 'library/nginx' }, rules)).toEqual([
    { registry: 'one.example', repository: 'hub/library/nginx' },
    { registry: 'two.example', repository: 'library/nginx' },
    { registry: hub, repository: 'library/nginx' },
  ])
  const other = { registry: 'b.example', repository: 'app' }
  expect(placesOf(other, rules)).toEqual([other])
})
