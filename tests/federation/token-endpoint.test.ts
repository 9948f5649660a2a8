/** ID tokens of issuers that a project trusts, at the token endpoint. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createIdentityClient, type OAuthFailure } from '@selvedge/client'
import { grantTypes, tokenTypes } from '@selvedge/protocol'
import type { AdminInput } from '@selvedge/protocol/admin'
import { parseJws, scopeNames } from '@selvedge/protocol/tokens'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { adminOf, createDeveloper, createProject, type Developer, runtimeOf } from '../harness/flow.ts'
import { githubClaims, jwkOf, type OidcIssuer, startOidcIssuer } from '../harness/oidc-issuer.ts'
import { type Stack, startStack } from '../harness/processes.ts'
import { randomOf } from '../harness/seed.ts'

const random = randomOf('token-endpoint')

let stack: Stack
let developer: Developer
let issuer: OidcIssuer
let edge: string

beforeAll(async () => {
  stack = await startStack({ runtime: ['--revocations.interval=1'] })
  developer = await createDeveloper(stack.state, { scopes: [...scopeNames] })
  issuer = await startOidcIssuer()
  edge = (await runtimeOf(stack).getEdgeIdToken()).id_token
})
afterAll(async () => {
  await issuer?.stop()
  await stack?.stop()
})

const admin = () => adminOf(stack.state)

type Rule = Partial<AdminInput<'issuer.add'>>

const trust = (more: Rule = {}) =>
  admin()['issuer.add']({
    clientId: developer.clientId,
    issuer: issuer.url,
    audiences: ['selvedge'],
    conditions: [{ claim: 'repository', value: 'octo-org/octo-repo' }],
    scopes: ['edge:mcm'],
    as: 'workload',
    algorithms: ['RS256', 'ES256', 'EdDSA'],
    allowsPrivate: true,
    ...more,
  })

const exchange = (idToken: string, scope = 'edge:mcm', clientId = developer.clientId) =>
  createIdentityClient({ url: stack.identity.url }).exchange({
    clientId,
    developerIdToken: idToken,
    edgeIdToken: edge,
    scope,
  })

const refusalOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'accepted',
    (cause: OAuthFailure) => `${cause.reason}: ${cause.message}`,
  )

const claims = { ...githubClaims, aud: 'selvedge' }

beforeEach(async () => {
  for (const { issuer: url } of await admin()['issuer.list']({ clientId: null }))
    await admin()
      ['issuer.remove']({ issuer: url, clientId: null })
      .catch(() => undefined)
})

describe('a token of a trusted issuer', () => {
  it('gets an access token of the account with the workload as its subject', async () => {
    await trust()
    const { access_token } = await exchange(issuer.issue(claims))
    expect(parseJws(access_token).payload).toMatchObject({
      sub: `${issuer.url}#${githubClaims.sub}`,
      account_id: developer.accountId,
      client_id: developer.clientId,
      scope: 'edge:mcm',
    })
  })

  it('is accepted by the token exchange in the same way', async () => {
    await trust()
    const response = await fetch(`${stack.identity.url}/token`, {
      method: 'POST',
      redirect: 'error',
      body: new URLSearchParams({
        client_id: developer.clientId,
        grant_type: grantTypes.tokenExchange,
        subject_token: issuer.issue(claims),
        subject_token_type: tokenTypes.idToken,
        actor_token: edge,
        actor_token_type: tokenTypes.idToken,
        scope: 'edge:mcm',
      }),
    })
    expect([response.status, await response.json()]).toMatchObject([
      200,
      { issued_token_type: tokenTypes.accessToken },
    ])
  })

  it('is refused while the project has no rule for its issuer', async () => {
    expect(await refusalOf(exchange(issuer.issue(claims)))).toContain('which the project does not trust')
  })

  it('can be used again within its life, and is the ID token of the answer', async () => {
    await trust({ scopes: ['openid', 'edge:mcm'] })
    const token = issuer.issue(claims)
    expect((await exchange(token, 'openid edge:mcm')).id_token).toBe(token)
    expect(await refusalOf(exchange(token))).toBe('accepted')
  })

  it('is let in by the rule that gives the scopes, where several fit', async () => {
    await trust()
    await trust({ scopes: ['edge:mcm', 'edge:clusters'] })
    expect((await exchange(issuer.issue(claims), 'edge:clusters')).scope).toBe('edge:clusters')
    expect(await refusalOf(exchange(issuer.issue(claims), 'edge:account:associate'))).toContain(
      'does not give',
    )
  })

  it('leads to no request to its issuer once its keys are known', async () => {
    await trust()
    await exchange(issuer.issue(claims))
    const before = issuer.asked.length
    for (let at = 0; at < 20; at++) await exchange(issuer.issue({ ...claims, run_number: String(at) }))
    expect(issuer.asked).toHaveLength(before)
  })
})

describe('between two projects', () => {
  it('a token is let in only where a rule names its issuer', async () => {
    const other = await createProject(stack.state, developer.email)
    await trust()
    const idToken = issuer.issue(claims)
    expect(await refusalOf(exchange(idToken, 'edge:mcm', other.clientId))).toContain('does not trust')
    await trust({ clientId: other.clientId, audiences: [other.clientId] })
    expect(await refusalOf(exchange(idToken, 'edge:mcm', other.clientId))).toContain('no rule')
    const own = issuer.issue({ ...claims, aud: other.clientId })
    expect(await refusalOf(exchange(own, 'edge:mcm', other.clientId))).toBe('accepted')
    expect(await refusalOf(exchange(own))).toContain('no rule')
  })

  it('a developer ID token of the one is not of the other, although they trust issuers', async () => {
    const other = await createProject(stack.state, developer.email)
    await trust({ clientId: other.clientId })
    expect(await refusalOf(exchange(developer.idToken, 'edge:mcm', other.clientId))).toContain(
      'not meant for',
    )
  })
})

describe('between two rules', () => {
  it('a token has the algorithm of the rule, not that of another rule for its issuer', async () => {
    await trust({ algorithms: ['RS256'] })
    await trust({ algorithms: ['ES256'], scopes: ['edge:clusters'] })
    const [rs, es] = (['RS256', 'ES256'] as const).map((algorithm) => issuer.issue(claims, { algorithm }))
    expect(await refusalOf(exchange(rs!, 'edge:clusters'))).toContain('does not give')
    expect(await refusalOf(exchange(es!, 'edge:clusters'))).toBe('accepted')
    expect(await refusalOf(exchange(es!, 'edge:mcm'))).toContain('does not give')
  })

  it('a token meets no rule for an issuer that differs by a slash', async () => {
    await trust({ conditions: [{ claim: 'repository', value: 'other/one' }] })
    await trust({ issuer: `${issuer.url}/` })
    expect(await refusalOf(exchange(issuer.issue(claims)))).toContain('no rule')
  })
})

describe('between two issuers of a project', () => {
  it('no key of the one verifies a token of the other', async () => {
    const second = await startOidcIssuer()
    try {
      second.keys = [jwkOf('ES256', { kid: 'second' })]
      issuer.keys = issuer.keys.filter((each) => (each as { alg: string }).alg !== 'ES256')
      const third = await startOidcIssuer()
      third.keys = [jwkOf('RS256')]
      await trust({ issuer: second.url })
      await trust({ issuer: third.url })
      const options = { algorithm: 'ES256', header: { kid: 'second' } } as const
      expect(await refusalOf(exchange(second.issue(claims, options)))).toBe('accepted')
      const confused = third.issue({ ...claims, iss: third.url }, options)
      expect(await refusalOf(exchange(confused))).toContain('is not one of its issuer')
      await third.stop()
    } finally {
      await second.stop()
    }
  })
})

const uniqueSubject = () => ({
  ...claims,
  sub: `repo:octo-org/octo-repo:run:${random.bytes(16).toString('hex')}`,
})
const callWith = (edgeAccessToken: string) => runtimeOf(stack).getGps({ edgeAccessToken })
const introspect = async (token: string, clientId = developer.clientId) => {
  const response = await fetch(`${stack.identity.url}/introspect`, {
    method: 'POST',
    redirect: 'error',
    body: new URLSearchParams({ token, client_id: clientId }),
  })
  return ((await response.json()) as { active: boolean }).active
}

describe('what was issued for tokens of an issuer', () => {
  it('is revoked with a subject, and not with another subject', async () => {
    const { issuerId } = await trust()
    const [one, other] = [uniqueSubject(), uniqueSubject()]
    const first = (await exchange(issuer.issue(one))).access_token
    const second = (await exchange(issuer.issue(other))).access_token
    await admin()['issuer.revoke']({ issuer: issuerId, clientId: null, subject: one.sub })
    expect([await introspect(first), await introspect(second)]).toEqual([false, true])
    expect(await refusalOf(exchange(issuer.issue(one)))).toContain('from before its subject was revoked')
    expect(await refusalOf(exchange(issuer.issue(other)))).toBe('accepted')
  })

  it('is revoked with the issuer; ID tokens from before are refused from then on', async () => {
    await trust()
    const { access_token } = await exchange(issuer.issue(claims))
    await admin()['issuer.revoke']({ issuer: issuer.url, clientId: null, subject: null })
    expect(await introspect(access_token)).toBe(false)
    expect(await refusalOf(exchange(issuer.issue(claims)))).toContain('from before its issuer was revoked')
  })

  it('is possible again with a token from after the revocation', async () => {
    const { issuerId } = await trust()
    const own = uniqueSubject()
    const before = (await exchange(issuer.issue(own))).access_token
    await admin()['issuer.revoke']({ issuer: issuerId, clientId: null, subject: own.sub })
    const database = new DatabaseSync(join(stack.state, 'identity', 'identity.db'))
    // As if the revocation were two minutes older.
    database.exec(
      'PRAGMA busy_timeout = 5000; UPDATE federated_subjects SET not_before = not_before - 120 WHERE not_before > 0',
    )
    database.close()
    // Another rule: what is in memory is read again.
    await trust({ scopes: ['edge:clusters'] })
    const { access_token } = await exchange(issuer.issue(own))
    expect([await introspect(before), await introspect(access_token)]).toEqual([false, true])
  })

  it('is revoked with its rule, also at the device', async () => {
    const { issuerId } = await trust({ scopes: ['edge:mcm', 'edge:account:associate'] })
    const { access_token } = await exchange(issuer.issue(uniqueSubject()), 'edge:mcm edge:account:associate')
    await runtimeOf(stack).associateAccount({ edgeAccessToken: access_token })
    expect(await refusalOf(callWith(access_token))).toContain('no location was recorded yet')
    await admin()['issuer.remove']({ issuer: issuerId, clientId: null })
    expect(await introspect(access_token)).toBe(false)
    await expect.poll(() => refusalOf(callWith(access_token))).toContain('token_revoked')
  })

  it('is revoked with its account', async () => {
    const other = await createDeveloper(stack.state)
    await trust({ clientId: other.clientId })
    const { access_token } = await exchange(issuer.issue(claims), 'edge:mcm', other.clientId)
    await admin()['account.revoke']({ email: other.email })
    expect(await introspect(access_token, other.clientId)).toBe(false)
    expect(await refusalOf(exchange(issuer.issue(claims), 'edge:mcm', other.clientId))).toContain(
      'its account revoked',
    )
  })
})

describe('a person', () => {
  it('is let in by the sub that is linked, and not by an e-mail address', async () => {
    const { issuerId } = await trust({ as: 'person', scopes: ['edge:mcm', 'offline_access'] })
    const own = { ...uniqueSubject(), email: developer.email, email_verified: true }
    expect(await refusalOf(exchange(issuer.issue(own)))).toContain('is linked to no person')
    const link = { issuer: issuerId, clientId: null, subject: own.sub }
    await admin()['issuer.link']({ ...link, email: developer.email })
    const { access_token, refresh_token } = await exchange(issuer.issue(own), 'edge:mcm offline_access')
    expect(parseJws(access_token).payload).toMatchObject({ sub: developer.accountId })
    expect(refresh_token).toBeTypeOf('string')
    await admin()['issuer.unlink'](link)
    expect([await introspect(access_token), await introspect(refresh_token!)]).toEqual([false, false])
    expect(await refusalOf(exchange(issuer.issue(own)))).toContain('is linked to no person')
  })

  it('of another account cannot be linked', async () => {
    const other = await createDeveloper(stack.state)
    const { issuerId } = await trust({ as: 'person' })
    const link = { issuer: issuerId, clientId: null, subject: 's', email: other.email }
    expect(await refusalOf(admin()['issuer.link'](link))).toContain('is not a person of the account')
  })

  it('cannot be linked to a rule for workloads', async () => {
    const { issuerId } = await trust()
    const link = { issuer: issuerId, clientId: null, subject: 's', email: developer.email }
    expect(await refusalOf(admin()['issuer.link'](link))).toContain('only subjects of rules for people')
  })
})

describe('a rule', () => {
  it.each<[what: string, rule: Rule, problem: string]>([
    ['without conditions', { conditions: [] }, 'parameter "conditions"'],
    ['that accepts every value', { conditions: [{ claim: 'sub', value: '*' }] }, 'would accept every value'],
    ['with a pattern inside', { conditions: [{ claim: 'sub', value: 'a*b' }] }, 'not at the end'],
    [
      'about a claim that is checked anyway',
      { conditions: [{ claim: 'aud', value: 'x' }] },
      'checked for every token',
    ],
    ['over plain HTTP', { allowsPrivate: false }, 'does not begin with https://'],
    ['with a URL in another form', { issuer: 'https://EXAMPLE.com' }, 'usual form'],
    ['with a query', { issuer: 'https://example.com/?x' }, 'a query or a fragment'],
    ['with a user name', { issuer: 'https://a@example.com' }, 'a user name'],
    ['with another scheme', { issuer: 'ftp://example.com' }, 'does not begin with https://'],
    ['that gives a workload refresh tokens', { scopes: ['offline_access'] }, 'no refresh token'],
  ])('%s is refused', async (_, rule, problem) => {
    expect(await refusalOf(trust(rule))).toContain(problem)
  })

  it('for this service itself is refused', async () => {
    expect(await refusalOf(trust({ issuer: stack.identity.url }))).toContain('this service itself')
  })

  it('that is there already is refused, and one more than the limit', async () => {
    await trust()
    expect(await refusalOf(trust())).toContain('has this rule already')
    for (let at = 1; at < 20; at++) await trust({ audiences: [`a${at}`] })
    expect(await refusalOf(trust({ audiences: ['more'] }))).toContain('20 trusted issuers already')
  })

  it('warns about a prefix that ends within a name', async () => {
    const { warnings } = await trust({ conditions: [{ claim: 'sub', value: 'repo:octo-org*' }] })
    expect(warnings).toEqual([expect.stringContaining('also accepts "repo:octo-org-evil/…"')])
    const more = await trust({ conditions: [{ claim: 'sub', value: 'repo:octo-org/*' }] })
    expect(more.warnings).toEqual([])
  })
})

describe('the list', () => {
  it('shows the state of the keys, the subjects of accepted tokens, and why keys are missing', async () => {
    await trust()
    await exchange(issuer.issue(claims))
    await trust({ issuer: 'https://127.0.0.1:1', allowsPrivate: false })
    expect(await refusalOf(exchange(issuer.issue({ ...claims, iss: 'https://127.0.0.1:1' })))).toContain(
      'could not be fetched',
    )
    const rules = await admin()['issuer.list']({ clientId: developer.clientId })
    expect(rules).toMatchObject([
      {
        keys: { count: expect.any(Number), problem: null },
        subjects: [{ subject: claims.sub, email: null }],
      },
      {
        keys: {
          count: 0,
          fetchedAt: null,
          problem: expect.stringContaining('is an address that is not connected to'),
        },
      },
    ])
    expect(Date.parse(rules[0]!.keys.validUntil!) - Date.parse(rules[0]!.keys.fetchedAt!)).toBe(86_400_000)
  })
})

describe('a test', () => {
  it('reports which check fails, with the value', async () => {
    const { issuerId } = await trust()
    const test = (token: string) => admin()['issuer.test']({ issuer: issuer.url, clientId: null, token })
    expect(await test(issuer.issue(claims))).toMatchObject({
      accepted: true,
      rules: [{ issuerId, problem: null }],
    })
    const evil = await test(issuer.issue({ ...claims, repository: 'evil/x' }))
    expect(evil).toMatchObject({
      accepted: false,
      rules: [{ problem: 'claim "repository" is "evil/x"; the rule needs "octo-org/octo-repo"' }],
    })
    const problems = [
      [issuer.issue({ ...claims, iss: `${issuer.url}/` }), 'claim "iss" is '],
      [
        issuer.issue(claims, { header: { alg: 'HS256' } }),
        'the algorithm of the ID token is "HS256", not RS256',
      ],
      [issuer.issue(claims, { header: { kid: 'x' } }), 'the key "x" of the ID token'],
      [issuer.issue({ ...claims, exp: 1e9, iat: 1e9 - 60 }), '2001-09-09T01:46:40.000Z; it is '],
      ['x', 'not a JWT'],
    ] as const
    for (const [token, problem] of problems)
      expect(await test(token)).toMatchObject({ accepted: false, problem: expect.stringContaining(problem) })
    const aud = await test(issuer.issue({ ...claims, aud: 'else' }))
    expect(aud.rules[0]!.problem).toBe('claim "aud" is "else"; the rule needs "selvedge"')
  })
})

describe('an issuer that is down', () => {
  it('serves with the keys that are known, and answers 503 without any', async () => {
    const gone = await startOidcIssuer()
    await trust({ issuer: gone.url })
    expect(await refusalOf(exchange(gone.issue(claims)))).toBe('accepted')
    await gone.stop()
    expect(await refusalOf(exchange(gone.issue({ ...claims, run_number: '2' })))).toBe('accepted')
    const never = await startOidcIssuer()
    await trust({ issuer: never.url })
    await never.stop()
    expect(await refusalOf(exchange(never.issue(claims)))).toContain('could not be fetched; try again later')
  })

  it('that answers slowly holds up nothing else', async () => {
    const slow = await startOidcIssuer()
    slow.answers.metadata = () => undefined
    await trust({ issuer: slow.url })
    await trust()
    const waiting = refusalOf(exchange(slow.issue(claims)))
    expect(await refusalOf(exchange(issuer.issue(claims)))).toBe('accepted')
    expect(await waiting).toContain('could not be fetched')
    await slow.stop()
  })
})
