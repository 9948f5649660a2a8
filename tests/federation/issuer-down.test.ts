/** An issuer that does not answer while the identity service starts: keys that were fetched before serve. */
import { createIdentityClient, type OAuthFailure } from '@selvedge/client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { adminOf, createDeveloper, type Developer, runtimeOf } from '../harness/flow.ts'
import { githubClaims, type OidcIssuer, startOidcIssuer } from '../harness/oidc-issuer.ts'
import { type Program, type Stack, startProgram, startStack } from '../harness/processes.ts'

let stack: Stack
let restarted: Program | undefined
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
  await restarted?.stop()
  await stack?.stop()
})

const exchange = () =>
  createIdentityClient({ url: stack.identity.url })
    .exchange({
      clientId: developer.clientId,
      developerIdToken: issuer.issue({ ...githubClaims, aud: 'selvedge' }),
      edgeIdToken: edge,
      scope: 'edge:mcm',
    })
    .then(
      () => 'accepted',
      ({ reason, message }: OAuthFailure) => `${reason}: ${message}`,
    )

it('after a restart, its tokens are accepted, and the list shows its keys and the problem', async () => {
  const admin = adminOf(stack.state)
  await admin['issuer.add']({
    clientId: developer.clientId,
    issuer: issuer.url,
    audiences: ['selvedge'],
    conditions: [{ claim: 'repository', value: 'octo-org/octo-repo' }],
    scopes: ['edge:mcm'],
    as: 'workload',
    algorithms: ['RS256'],
    allowsPrivate: true,
  })
  expect(await exchange()).toBe('accepted')
  const [before] = await admin['issuer.list']({ clientId: null })
  expect(before!.keys).toMatchObject({ count: 3, problem: null })

  await stack.identity.stop()
  await issuer.stop()
  const port = new URL(stack.identity.url).port
  const env = { SELVEDGE_STATE: stack.state, SELVEDGE_IDENTITY_PORT: port }
  restarted = await startProgram('identity', env)
  const [unused] = await admin['issuer.list']({ clientId: null })
  expect(unused!.keys).toEqual(before!.keys)
  expect(await exchange()).toBe('accepted')
  const [used] = await admin['issuer.list']({ clientId: null })
  expect(used!.keys).toEqual({ ...before!.keys, problem: expect.any(String) })
})
