/** ID tokens of issuers that a project trusts, at the token endpoint. */
import { createIdentityClient, type OAuthFailure } from '@selvedge/client'
import { grantTypes, tokenTypes } from '@selvedge/protocol'
import type { AdminInput } from '@selvedge/protocol/admin'
import { parseJws } from '@selvedge/protocol/tokens'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { adminOf, createDeveloper, type Developer, runtimeOf } from '../harness/flow.ts'
import { githubClaims, type OidcIssuer, startOidcIssuer } from '../harness/oidc-issuer.ts'
import { type Stack, startStack } from '../harness/processes.ts'

let stack: Stack
let developer: Developer
let issuer: OidcIssuer
let edge: string

beforeAll(async () => {
  stack = await startStack()
  developer = await createDeveloper(stack.state)
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
  it('gets an access token of the account that says which workload has it', async () => {
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
})
