/** A sign-in of a person: what is requested, shown, polled and stored. */
import { ConnectionFailure, OAuthFailure } from '@selvedge/client'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Context } from '../context/context.ts'
import { clientIdOf, signInOptions, signIn as signInWith } from './sign-in.ts'
import type { Login } from './sign-ins.ts'

const openPage = vi.fn<NonNullable<Parameters<typeof signInWith>[2]>>()
const signIn: typeof signInWith = (used, options) => signInWith(used, options, openPage)

const page = 'https://id.example/device'
const begun = {
  ...{ device_code: 'device', user_code: 'ABCD', expires_in: 630, interval: 5 },
  ...{ verification_uri: page, verification_uri_complete: `${page}?user_code=ABCD` },
}
const idToken = `${btoa('{"alg":"ES256"}')}.${btoa('{"exp":9}')}.AAAA`.replaceAll('=', '')
const tokens = { refresh_token: 'new', id_token: idToken, scope: 'openid' }

let requested: object[]
let polls: number
let answers: (Error | object)[]
let written: Login[]
let revoked: object[]
let shown: string[]
let before: Partial<Login> | undefined
let waits: number[]
beforeEach(() => {
  requested = []
  polls = 0
  answers = []
  written = []
  revoked = []
  shown = []
  before = undefined
  waits = []
  openPage.mockReset().mockReturnValue(false)
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((done: () => void, ms: number) => {
    waits.push(ms / 1000)
    queueMicrotask(done)
  }) as never)
})
afterEach(() => vi.restoreAllMocks())

const context = (more: object = {}, terminal: object = {}) =>
  ({
    env: { PATH: '/bin' },
    terminal: {
      note: (text: string) => shown.push(text),
      out: (text: string) => shown.push(`out: ${text}`),
      ...terminal,
    },
    signIns: {
      read: () => before,
      write: (login: Login) => {
        expect(revoked).toEqual([])
        written.push(login)
      },
    },
    identity: async () => ({
      url: 'https://id.example',
      client: {
        async authorizeDevice(request: object) {
          requested.push(request)
          return { ...begun, ...more }
        },
        async redeemDevice(request: object) {
          expect(request).toEqual({ clientId: expect.any(String), deviceCode: 'device' })
          polls++
          const answer = answers.shift() ?? tokens
          if (answer instanceof Error) throw answer
          return answer
        },
        async revoke(request: object) {
          revoked.push(request)
          throw new Error('offline')
        },
      },
    }),
  }) as unknown as Context

it('requests the usual scopes for the command line itself, and stores the sign-in', async () => {
  const login = await signIn(context(), {})
  const scope = 'openid edge:mcm edge:clusters edge:account:associate edge:account:unassociate offline_access'
  expect(requested).toEqual([{ clientId: 'selvedge-cli', scope }])
  expect(written).toEqual([login])
  expect(login).toEqual({
    ...{ identityUrl: 'https://id.example', clientId: 'selvedge-cli', scope: 'openid' },
    ...{ refreshToken: 'new', idToken, idTokenEndsAt: 9 },
  })
})

it('requests what was asked for, always with a refresh token and an ID token', async () => {
  await signIn(context(), { clientId: 'own', scope: 'edge:mcm  openid' })
  expect(requested).toEqual([{ clientId: 'own', scope: 'edge:mcm openid offline_access' }])
  expect([clientIdOf({ clientId: 'own' }), clientIdOf({}), clientIdOf({ clientId: true })]).toEqual([
    'own',
    undefined,
    undefined,
  ])
})

it('shows the page and the code to the person, and no control sequences of the service', async () => {
  await signIn(context({ user_code: 'AB\u001b[2J\nCD' }), {})
  expect(shown).toHaveLength(1)
  expect(shown[0]!.split('\n')).toEqual([
    '',
    `Open    ${page}?user_code=ABCD`,
    expect.stringMatching(/^Code {4}AB.*CD$/),
    '',
    `Sign in there and compare the code. Another device can open ${page}. It expires in 11 minutes.`,
  ])
  expect(shown[0]).not.toContain('\u001b')
})

it('shows a QR code on a terminal', async () => {
  await signIn(context({}, { isWatched: true, redraw: () => undefined }), {})
  expect(shown[0]!.split('\n').length).toBeGreaterThan(10)
  expect(shown[0]).toMatch(/[▀▄█]/)
})

it('opens the page on a desktop, unless that is skipped', async () => {
  openPage.mockReturnValue(true)
  const used = context()
  await signIn(used, {})
  expect(openPage.mock.calls).toEqual([[`${page}?user_code=ABCD`, used.terminal, used.env]])
  expect(shown.at(-1)).toBe('The page opens in the browser of this desktop.')
  await signIn(used, { skipBrowser: true })
  expect(openPage).toHaveBeenCalledOnce()
})

it('gives the code to a program as one line of JSON, and opens nothing', async () => {
  await signIn(context(), { json: true })
  expect(shown).toHaveLength(1)
  const { device_code: _, interval: _interval, ...forPeople } = begun
  expect(JSON.parse(shown[0]!.slice('out: '.length))).toEqual(forPeople)
  expect(openPage).not.toHaveBeenCalled()
})

it.each([
  ['verification_uri', 'http://id.example/device'],
  ['verification_uri', 'javascript:alert(1)'],
  ['verification_uri', 'no address'],
  ['verification_uri_complete', 'http://id.example/device'],
  ['verification_uri_complete', 'https://id.example@other.example/'],
  ['verification_uri_complete', 'https://:secret@other.example/'],
])('a page of the service as %s that must not be opened is refused: %s', async (name, url) => {
  await expect(signIn(context({ [name]: url }), {})).rejects.toThrow(`"${name}" of https://id.example is`)
  expect([shown, polls, written]).toEqual([[], 0, []])
})

it('accepts a page with a path and a query', async () => {
  await signIn(context({ verification_uri: 'http://127.0.0.1:8083/a?b#c' }), {})
  expect(written).toHaveLength(1)
})

const oauth = (reason: string) => new OAuthFailure(reason as never, 'x', 400)
it('polls until the person has decided, more slowly when it is asked to or gets no answer', async () => {
  answers = [
    oauth('authorization_pending'),
    oauth('slow_down'),
    new ConnectionFailure('timeout', 'x'),
    new ConnectionFailure('not_running', 'x'),
    new ConnectionFailure('timeout', 'x'),
    oauth('slow_down'),
  ]
  await signIn(context(), {})
  expect(waits).toEqual([5, 5, 10, 20, 40, 60, 60])
})

it.each([
  [0, 1],
  [600, 60],
])('an interval of %i seconds is one of %i', async (interval, expected) => {
  await signIn(context({ interval }), {})
  expect(waits).toEqual([expected])
})

it.each([
  oauth('access_denied'),
  oauth('expired_token'),
  new ConnectionFailure('bad_answer', 'x'),
  Object.assign(new Error('not of the service'), { reason: 'slow_down' }),
])('ends when the service refuses: %o', async (refusal) => {
  answers = [refusal]
  await expect(signIn(context(), {})).rejects.toBe(refusal)
  expect([polls, written]).toEqual([1, []])
})

it('revokes the sign-in that it replaces, once the new one is stored', async () => {
  before = { clientId: 'former', refreshToken: 'old' }
  await signIn(context(), {})
  expect(revoked).toEqual([{ clientId: 'former', token: 'old' }])
  before = undefined
  revoked = []
  await signIn(context(), {})
  expect(revoked).toEqual([])
})

it('has options for its client, its scopes and the browser', () => {
  expect(signInOptions.map(({ flags }) => flags)).toEqual([
    '--client-id <id>',
    '--scope <list>',
    '--skip-browser',
  ])
  for (const { description } of signInOptions) expect(description).toMatch(/project|scopes|page/)
})
