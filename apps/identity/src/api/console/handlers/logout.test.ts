/** The logout of an app: what it may ask for, what the person sees, and what ends. */
import { TokenError } from '@selvedge/protocol/tokens'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type ConsoleStore,
  contextOf,
  openConsoleStore,
} from '../../../../../../tests/harness/console-calls.ts'
import { projectOf } from '../../../../../../tests/harness/grants.ts'
import type { Project } from '../../../registry/projects/projects.ts'
import { logoutHandlers } from './logout.ts'

let opened: ConsoleStore
let handlers: ReturnType<typeof logoutHandlers>
let project: Partial<Project>
let stopped: string[]
let isRevoked: boolean
const page = 'https://app.example/bye'

/** As much of an ID token as is read before it is verified. */
const hintOf = (payload: object) =>
  [{ alg: 'ES256' }, payload]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
    .concat('.AAAA')
const claims = { sid: 's', sub: 'ada', aud: 'c', account_id: 'a', email: 'ada@example.com' }
const hint = hintOf(claims)

beforeEach(async () => {
  opened = await openConsoleStore()
  ;[project, stopped, isRevoked] = [{}, [], false]
  const verifyEnded = (token: string, _profile: object, audience: string) => {
    if (!token.startsWith(hint.split('.')[0]!) || audience !== 'c')
      throw new TokenError('token_malformed', `not for ${audience}`)
    return claims
  }
  handlers = logoutHandlers({
    ...opened,
    projects: {
      find: async (id: string) =>
        id === 'c'
          ? projectOf({
              name: 'an\u202eapp',
              appType: 'web',
              postLogoutRedirectUris: [page, `${page}?a=b`],
              ...project,
            })
          : undefined,
    } as never,
    revocations: { isRevoked: (sid: string) => isRevoked && sid === 's' },
    authorizationCodes: {
      revoke: async ({ sid }: { sid: string }) => void stopped.push(`codes ${sid}`),
    } as never,
    appConsents: { forget: async (...of: string[]) => void stopped.push(`consent ${of.join(' ')}`) } as never,
    verifier: { verifyEnded } as never,
  })
})
afterEach(() => opened.close())

const look = (query: Record<string, string>) =>
  handlers['logout.look']({ query: `${new URLSearchParams(query)}` })
const finish = (query: Record<string, string>, everywhere = false, context = contextOf()) =>
  handlers['logout.finish']({ query: `${new URLSearchParams(query)}`, everywhere }, undefined, context)
const plain = { appName: 'anapp', returnTo: null, obstacle: null }

it('the person sees the app, and returns to an address of it only', async () => {
  expect(await look({})).toEqual({ ...plain, appName: '' })
  expect(await look({ client_id: 'c' })).toEqual(plain)
  expect(await look({ id_token_hint: hint })).toEqual(plain)
  expect(await look({ id_token_hint: hint, client_id: 'c' })).toEqual(plain)
  const back = { client_id: 'c', post_logout_redirect_uri: page }
  expect(await look(back)).toEqual({ ...plain, returnTo: page })
  expect(await look({ ...back, state: 'x y' })).toMatchObject({ returnTo: `${page}?state=x+y` })
  expect(await look({ ...back, post_logout_redirect_uri: `${page}?a=b`, state: 'x' })).toMatchObject({
    returnTo: `${page}?a=b&state=x`,
  })
})

it.each<[string, Record<string, string>, Partial<Project>?]>([
  ['an address of another app', { client_id: 'c', post_logout_redirect_uri: 'https://eve.example' }],
  ['an address of no app', { post_logout_redirect_uri: page }],
  ['an address of a disabled app', { client_id: 'c', post_logout_redirect_uri: page }, { active: false }],
  ['the ID token of another app', { id_token_hint: hint, client_id: 'd' }],
  ['an ID token for several', { id_token_hint: hintOf({ ...claims, aud: ['c'] }) }],
  ['an ID token that is not one', { id_token_hint: 'x' }],
])('%s is an obstacle, with which nothing ends', async (_, query, change = {}) => {
  project = change
  const refused = { appName: '', returnTo: null, obstacle: expect.stringMatching(/./) }
  expect(await look(query)).toEqual(refused)
  const ada = await opened.viewerOf('ada')
  const context = contextOf(ada)
  expect(await finish(query, true, context)).toEqual(refused)
  expect(context.newSession).toBeUndefined()
  expect(stopped).toEqual([])
})

it('other failures are not shown as one of the request', async () => {
  handlers = logoutHandlers({
    ...opened,
    projects: { find: () => Promise.reject(new Error('broken')) },
  } as never)
  await expect(look({ client_id: 'c' })).rejects.toThrow('broken')
})

it('what the app got ends once', async () => {
  expect(await finish({ id_token_hint: hint })).toEqual(plain)
  expect(stopped).toEqual(['consent ada c', 'codes s'])
  expect(opened.audited()).toEqual(['ada app.logout s ok c'])
  isRevoked = true
  await finish({ id_token_hint: hint })
  expect(stopped.slice(2)).toEqual(['consent ada c'])
  expect(opened.audited()).toHaveLength(1)
})

it('the session of the person ends if the person wants that', async () => {
  const ada = await opened.viewerOf('ada')
  const there = () => opened.sessions.stillThere(ada.session.sessionId)
  const context = contextOf(ada)
  await finish({ client_id: 'c' }, false, context)
  expect([context.newSession, await there()]).toMatchObject([undefined, { session: {} }])
  await finish({ client_id: 'c' }, true, context)
  expect([context.newSession, await there()]).toEqual([null, undefined])
  expect(stopped).toEqual([])
  const visitor = contextOf()
  await finish({}, true, visitor)
  expect(visitor.newSession).toBeUndefined()
})
