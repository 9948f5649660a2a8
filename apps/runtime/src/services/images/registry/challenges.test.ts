import { expect, it } from 'vitest'
import { readChallenges } from './challenges.ts'

const read = (field: string) =>
  readChallenges(field).map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)])

const bearer = ['bearer', { realm: 'https://auth.example/token', service: 'registry.example' }]

it.each([
  ['as registries send it', 'Bearer realm="https://auth.example/token",service="registry.example"'],
  ['with spaces', '  Bearer   realm = "https://auth.example/token" ,\t service= "registry.example"  '],
  ['in another case', 'BEARER Realm="https://auth.example/token",SERVICE="registry.example"'],
  ['in another order', 'bearer service="registry.example",realm="https://auth.example/token"'],
  ['without quotes', 'Bearer realm=https://auth.example/token,service=registry.example'],
  ['without a comma', 'Bearer realm="https://auth.example/token" service="registry.example"'],
  ['with empty members', ',, Bearer realm="https://auth.example/token",, service="registry.example",'],
  ['with escapes', 'Bearer realm="https:\\/\\/auth.example/token",service="registry.example"'],
  ['without its last quote', 'Bearer realm="https://auth.example/token",service="registry.example'],
  ['twice', 'Bearer realm="https://auth.example/token",service="registry.example",realm="https://thief"'],
])('reads a challenge %s', (_, field) => {
  const [first] = read(field)
  expect(Object.entries(first![1]!).sort()).toEqual(Object.entries(bearer[1]!).sort())
  expect(first![0]).toBe('bearer')
})

it('reads every challenge of a field, in its order', () => {
  expect(
    read('Negotiate, NTLM TlRMTVNTUAAB/+==, Basic realm="a, Bearer realm=b", Bearer realm="c",scope="d e"'),
  ).toEqual([
    ['negotiate', {}],
    ['ntlm', {}],
    ['basic', { realm: 'a, Bearer realm=b' }],
    ['bearer', { realm: 'c', scope: 'd e' }],
  ])
  expect(read('Negotiate YIIB, Basic')).toEqual([
    ['negotiate', {}],
    ['basic', {}],
  ])
  expect(read('Basic realm=x,Negotiate')).toEqual([
    ['basic', { realm: 'x' }],
    ['negotiate', {}],
  ])
})

it.each(['', ' ', ',', '=', '"', 'realm="x"', '\\', '\u00e9'])('finds no challenge in %j', (field) => {
  expect(readChallenges(field)).toEqual([])
})

it('reads at most 16 challenges with 32 parameters each, of a field that a server fills', () => {
  const many = readChallenges(Array.from({ length: 2000 }, (_, at) => `S${at}`).join(','))
  expect(many).toHaveLength(16)
  const [one] = readChallenges(`Bearer ${Array.from({ length: 2000 }, (_, at) => `p${at}=x`).join(',')}`)
  expect(one!.parameters.size).toBe(32)
})

it('names that objects have by themselves are names as others', () => {
  expect(readChallenges('Bearer __proto__="x",constructor=y')[0]!.parameters.get('__proto__')).toBe('x')
})
