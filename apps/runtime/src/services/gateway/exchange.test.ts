import { expect, it } from 'vitest'
import { type Attempt, mayRepeat } from './exchange.ts'

const repeatable: Attempt = {
  method: 'GET',
  hasBody: false,
  isReused: true,
  isAnswered: false,
  isRepeated: false,
}

it.each(['GET', 'HEAD', 'OPTIONS'])(
  '%s is sent again if a persistent connection closed before an answer',
  (method) => {
    expect(mayRepeat({ ...repeatable, method })).toBe(true)
  },
)

it.each<[string, Partial<Attempt>]>([
  ['with POST', { method: 'POST' }],
  ['with PUT', { method: 'PUT' }],
  ['with DELETE', { method: 'DELETE' }],
  ['with PATCH', { method: 'PATCH' }],
  ['with a body', { hasBody: true }],
  ['on a new connection: the instance closed it on purpose', { isReused: false }],
  ['with an answer that has begun', { isAnswered: true }],
  ['that was sent again already', { isRepeated: true }],
])('a request %s is not sent again', (_, changed) => {
  expect(mayRepeat({ ...repeatable, ...changed })).toBe(false)
})
