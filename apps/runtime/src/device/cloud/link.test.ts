import { createFakeClock } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { createLink } from './link.ts'

it('a link has the time since which it is as it is, and its last failure', () => {
  const clock = createFakeClock(0)
  const at = (seconds: number) => new Date(seconds * 1000).toISOString()
  let changes = 0
  const link = createLink(clock, () => changes++)
  expect(link.status()).toEqual({ reachable: null, since: null })
  link.failed('one')
  expect(link.status()).toEqual({ reachable: false, since: at(0), lastError: 'one' })
  clock.advance(1000)
  link.failed('two')
  expect(link.status()).toEqual({ reachable: false, since: at(0), lastError: 'two' })
  clock.advance(1000)
  link.succeeded()
  expect([link.status(), changes]).toEqual([{ reachable: true, since: at(2) }, 3])
  clock.advance(1000)
  const before = link.status()
  link.succeeded()
  expect([link.status() === before, changes]).toEqual([true, 3])
  link.failed('three')
  expect(link.status()).toEqual({ reachable: false, since: at(3), lastError: 'three' })
})

it('a link needs no listener', () => {
  const link = createLink(createFakeClock(0))
  link.succeeded()
  link.failed('one')
  expect(link.status().reachable).toBe(false)
})
