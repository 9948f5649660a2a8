import { describe, expect, it } from 'vitest'
import { isFresh, type NextStep, nextStep, type Standing } from './next-step.ts'

const now = 1_700_000_000_000
const seenAt = now - 10_000
const request = {
  prompts: new Set<never>(),
  maxAgeSeconds: undefined,
  expectedPersonId: undefined,
  redirectUri: 'https://app.example/signed-in',
}
const person: Standing = {
  personId: 'ada',
  authTime: now - 3_600_000,
  obstacle: undefined,
  isRemembered: true,
}
const prompt = (...values: string[]) => ({ prompts: new Set(values) as never })

describe('the next step', () => {
  it.each<[string, object, object | undefined, NextStep]>([
    ['without a person', {}, undefined, 'sign_in'],
    ['without a person, without a question', prompt('none'), undefined, 'login_required'],
    ['with a stored approval', {}, {}, 'grant'],
    ['with a stored approval, without a question', prompt('none'), {}, 'grant'],
    ['with a stored approval, prompt=consent', prompt('consent'), {}, 'consent'],
    ['with a stored approval, prompt=select_account', prompt('select_account'), {}, 'consent'],
    ['with a stored approval, prompt=login', prompt('login'), {}, 'consent'],
    ['after a sign-in since the request, prompt=login', prompt('login'), { authTime: seenAt }, 'consent'],
    ['for the first time', {}, { isRemembered: false }, 'consent'],
    ['for the first time, without a question', prompt('none'), { isRemembered: false }, 'consent_required'],
    ['with an old sign-in', { maxAgeSeconds: 3599 }, {}, 'consent'],
    ['with a sign-in that is just young enough', { maxAgeSeconds: 3600 }, {}, 'grant'],
    [
      'with an old sign-in, without a question',
      { ...prompt('none'), maxAgeSeconds: 3599 },
      {},
      'login_required',
    ],
    [
      'with a sign-in that is just young enough, without a question',
      { ...prompt('none'), maxAgeSeconds: 3600 },
      {},
      'grant',
    ],
    ['for the person that the app expects', { expectedPersonId: 'ada' }, {}, 'grant'],
    ['for another person', { expectedPersonId: 'bob' }, {}, 'consent'],
    [
      'for another person, without a question',
      { ...prompt('none'), expectedPersonId: 'bob' },
      {},
      'login_required',
    ],
    ['with an obstacle', {}, { obstacle: 'x' }, 'consent'],
    ['with an obstacle, without a question', prompt('none'), { obstacle: 'x' }, 'access_denied'],
    ['to a loopback port', { redirectUri: 'http://127.0.0.1/cb' }, {}, 'consent'],
    [
      'to a loopback port, without a question',
      { ...prompt('none'), redirectUri: 'http://[::1]/cb' },
      {},
      'consent_required',
    ],
    ['to a private-use scheme', { redirectUri: 'com.example.app:/cb' }, {}, 'consent'],
  ])('%s', (_, more, standing, expected) => {
    const step = nextStep({ ...request, ...more }, standing && { ...person, ...standing }, { now, seenAt })
    expect(step).toBe(expected)
  })
})

it.each<[object, number, boolean]>([
  [{}, 0, true],
  [prompt('login'), seenAt - 1, false],
  [prompt('login'), seenAt, true],
  [{ maxAgeSeconds: 0 }, seenAt - 1, false],
  [{ maxAgeSeconds: 0 }, seenAt, true],
  [{ maxAgeSeconds: 60 }, now - 60_000, true],
  [{ maxAgeSeconds: 60 }, now - 60_001, false],
])('with %j a sign-in at %i is fresh: %s', (more, authTime, expected) => {
  expect(isFresh({ ...request, ...more }, { authTime }, { now, seenAt })).toBe(expected)
})
