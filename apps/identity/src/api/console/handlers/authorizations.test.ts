/** The decision of a person about an app: what is shown, what is answered to the app, and what is recorded. */
import { OAuthError } from '@selvedge/protocol'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type ConsoleStore,
  contextOf,
  openConsoleStore,
} from '../../../../../../tests/harness/console-calls.ts'
import { projectOf } from '../../../../../../tests/harness/grants.ts'
import type { Begun } from '../../../tokens/authorize/authorizations.ts'
import { RefusedRequest } from '../../../tokens/authorize/refused-request.ts'
import type { Visitor } from '../../../tokens/authorize/visitor.ts'
import type { Viewer } from '../context.ts'
import { authorizationHandlers } from './authorizations.ts'

let opened: ConsoleStore
let handlers: ReturnType<typeof authorizationHandlers>
let ada: Viewer
/** The request as the endpoint, which has tests of its own, would read it. */
let begun: Partial<Begun>
let request: object
let problem: Error | undefined
let needsSignIn: boolean
let calls: unknown[]
let hasOwnSignIn: boolean

beforeEach(async () => {
  opened = await openConsoleStore()
  ada = await opened.viewerOf('ada')
  ;[begun, request, problem, needsSignIn, calls, hasOwnSignIn] = [{}, {}, undefined, false, [], true]
  const authorizations = {
    async begin(query: string, visitor: Visitor | undefined, ticket: string | undefined) {
      calls.push(['begin', query, visitor, ticket])
      if (problem) throw problem
      const project = projectOf({ name: 'an\u202eapp', accountId: 'b' })
      const read = {
        project,
        redirectUri: 'https://app.example/cb',
        scope: 'openid unknown',
        loginHint: 'x@y',
      }
      return { step: 'grant', accountId: 'a', ticket: 't', request: { ...read, ...request }, ...begun }
    },
    needsSignIn: () => needsSignIn,
    async approve(_: object, visitor: Visitor, entry: object) {
      calls.push(['approve', visitor.person.personId, entry])
      return 'https://app.example/cb?code=c'
    },
    async refuse(_: object, error: OAuthError) {
      calls.push(['refuse', error.code])
      return `https://app.example/cb?error=${error.code}`
    },
  }
  handlers = authorizationHandlers({
    ...{ ...opened, authorizations: authorizations as never },
    people: { hasOwnSignIn: async () => hasOwnSignIn },
  })
})
afterEach(() => opened.close())

const begin = (viewer: Viewer | undefined = ada, ticket: string | null = null) =>
  handlers['authorization.begin']({ query: 'q', ticket }, undefined, contextOf(viewer))
const decide = (approve: boolean, viewer = ada) =>
  handlers['authorization.decide']({ query: 'q', ticket: 't', approve }, viewer, contextOf(viewer))
const node = (sub = 'a') => ({ node: { node_id: 'n', node_name: 'v\u202ean', sub } })
const called = (name: string) => calls.filter((each) => (each as string[])[0] === name)

it('a visitor signs in first', async () => {
  begun = { step: 'sign_in' }
  expect(await handlers['authorization.begin']({ query: 'q', ticket: 'u' }, undefined, contextOf())).toEqual({
    ...{ step: 'sign_in', ticket: 't', loginHint: 'x@y' },
  })
  expect(calls).toEqual([['begin', 'q', undefined, 'u']])
})

it('a person is asked with the names of strangers on one line, and the host that the answer is for', async () => {
  begun = { step: 'consent' }
  const consent = {
    ...{ appName: 'anapp', appAccount: 'b@example.com', isOwn: false, accountName: expect.any(String) },
    ...{ returnsTo: 'app.example', device: null, obstacle: null },
    scopes: [
      { name: 'openid', meaning: expect.stringMatching(/./) },
      { name: 'unknown', meaning: '' },
    ],
  }
  const step = (await begin()) as { consent: typeof consent }
  expect(step).toEqual({ step: 'consent', ticket: 't', consent })
  expect(step.consent.accountName).toBe(ada.membership.name)
  const cases: [Partial<Begun>, object, object][] = [
    [{ accountId: 'x' }, {}, { accountName: '' }],
    [{ obstacle: 'no' }, {}, { obstacle: 'no' }],
    [{}, { project: projectOf() }, { isOwn: true, appAccount: 'a@example.com' }],
    [{}, { project: projectOf({ accountId: '' }) }, { isOwn: false, appAccount: '' }],
    [{}, { redirectUri: 'http://127.0.0.1:8/cb' }, { returnsTo: '127.0.0.1:8' }],
    [{}, { redirectUri: 'com.example.app:/cb' }, { returnsTo: 'com.example.app' }],
    [{}, node(), { device: { nodeId: 'n', name: 'van', isNew: false } }],
    [{}, node(''), { device: { nodeId: 'n', name: 'van', isNew: true } }],
  ]
  for (const [change, asked, shown] of cases) {
    begun = { step: 'consent', ...change }
    request = asked
    expect(await begin()).toMatchObject({ consent: shown })
  }
})

it('who visits is the person of the session, held to the account of a company if there is another way in', async () => {
  await begin(await opened.viewerOf('ada', 'a', { age: 5 }))
  const visitor = {
    ...{ person: { personId: 'ada', email: 'ada@example.com' }, authTime: opened.clock.now() - 5 },
    ...{ accountId: 'a', accountIds: ['a'], boundTo: undefined, described: 'Firefox from 192.0.2.1' },
  }
  expect(called('begin')[0]).toMatchObject(['begin', 'q', visitor, undefined])
  const byCompany = { ...ada, session: { ...ada.session, companyId: 'corp' } }
  await begin(byCompany)
  hasOwnSignIn = false
  await begin(byCompany)
  expect(called('begin').map((each) => (each as [string, string, Visitor])[2].boundTo)).toEqual([
    ...[undefined, 'a', undefined],
  ])
  await handlers['authorization.begin']({ query: 'q', ticket: null }, undefined, {
    ...contextOf(ada),
    userAgent: '',
  })
  expect((calls.at(-2) as [string, string, Visitor])[2].described).toBe('a browser from 192.0.2.1')
})

it('what needs no question is answered at once, and recorded with the code', async () => {
  expect(await begin()).toEqual({ step: 'return', to: 'https://app.example/cb?code=c', appName: 'anapp' })
  const entry = {
    accountId: 'a',
    actor: 'ada@example.com',
    action: 'authorization.decide',
    subject: 'c',
    outcome: 'ok',
  }
  expect(called('approve')).toMatchObject([['approve', 'ada', entry]])
  begun = { accountId: 'x' }
  request = node()
  await begin()
  expect(called('approve')[1]).toMatchObject([
    'approve',
    'ada',
    { accountId: 'x', detail: expect.stringContaining(' for v') },
  ])
  begun = { accountId: '' }
  await begin()
  expect(called('approve')[2]).toMatchObject(['approve', 'ada', { accountId: 'a' }])
})

it.each(['login_required', 'consent_required', 'access_denied'] as const)(
  '%s is answered to the app',
  async (step) => {
    begun = { step }
    expect(await begin()).toMatchObject({ step: 'return', to: `https://app.example/cb?error=${step}` })
  },
)

it('a refused request is answered to the app if its address is known', async () => {
  const error = new OAuthError('invalid_scope', 'no')
  problem = new RefusedRequest(error)
  expect(await begin()).toEqual({ step: 'refused', reason: 'no' })
  problem = new RefusedRequest(error, { redirectUri: 'https://app.example/cb', state: 's' })
  const to =
    'https://app.example/cb?error=invalid_scope&error_description=no&state=s&iss=https%3A%2F%2Fidentity.example'
  expect(await decide(true)).toEqual({ step: 'return', to, appName: '' })
  problem = new Error('broken')
  await expect(begin()).rejects.toThrow('broken')
})

it('an approval is answered with a code, and a refusal with an error', async () => {
  expect(await decide(true)).toMatchObject({ to: 'https://app.example/cb?code=c' })
  expect(await decide(false)).toMatchObject({ to: 'https://app.example/cb?error=access_denied' })
  expect(called('approve')).toMatchObject([['approve', 'ada', { outcome: 'ok' }]])
  expect(opened.audited()).toMatchObject([expect.stringContaining('authorization.decide c refused an')])
})

it('an approval needs the page of this request, no obstacle, and a recent sign-in', async () => {
  begun = { ticket: 'new' }
  expect(await decide(true)).toMatchObject({ step: 'refused' })
  expect(await decide(false)).toMatchObject({ step: 'refused' })
  begun = { obstacle: 'no member' }
  await expect(decide(true)).rejects.toMatchObject({ reason: 'forbidden', message: 'no member' })
  begun = {}
  needsSignIn = true
  await expect(decide(true)).rejects.toMatchObject({ reason: 'step_up_required' })
  expect(called('approve')).toEqual([])
  expect(await decide(false)).toMatchObject({ step: 'return' })
})
