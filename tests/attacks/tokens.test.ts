import { readFileSync } from 'node:fs'
import { RpcFailure } from '@selvedge/client'
import { createAccessTokenVerifier } from '@selvedge/client/backend'
import { grantTypes, tokenTypes } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessToken, allScopes, createDeveloper, type Developer, runtimeOf } from '../harness/flow.ts'
import { type Stack, startStack } from '../harness/processes.ts'
import { type Forgery, forge, type Kind, readIssuerKeys } from './forge.ts'

const cases: readonly Forgery[] = JSON.parse(readFileSync(new URL('tokens.json', import.meta.url), 'utf8'))
const casesOf = (kind: Kind) => cases.filter((each) => each.of?.includes(kind) ?? true)

let stack: Stack
let developer: Developer
let edge: string
let access: string
let keys: ReturnType<typeof readIssuerKeys>

beforeAll(async () => {
  stack = await startStack()
  developer = await createDeveloper(stack.state)
  edge = (await runtimeOf(stack).getEdgeIdToken()).id_token
  access = await accessToken(stack, developer)
  keys = readIssuerKeys(stack.state)
})
afterAll(() => stack.stop())

async function exchange(
  fields: Record<string, string>,
): Promise<{ status: number; body: Record<string, string> }> {
  const response = await fetch(`${stack.identity.url}/token`, {
    method: 'POST',
    body: new URLSearchParams(fields),
  })
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}

/** The same exchange with both grants: what one refuses, the other must refuse, each with its own error code. */
async function outcomes(idToken: string, edgeToken: string): Promise<string[]> {
  const shared = { client_id: developer.clientId, scope: allScopes }
  const own = await exchange({
    ...shared,
    grant_type: grantTypes.idTokenSignin,
    id_token: idToken,
    edge_id_token: edgeToken,
  })
  const standard = await exchange({
    ...shared,
    grant_type: grantTypes.tokenExchange,
    subject_token: idToken,
    subject_token_type: tokenTypes.idToken,
    actor_token: edgeToken,
    actor_token_type: tokenTypes.idToken,
  })
  return [own, standard].map(({ status, body }) => (status === 200 ? 'accepted' : body.error!))
}

describe.each(['developer', 'edge'] as const)('a hostile %s ID token at the token endpoint', (kind) => {
  it.each(casesOf(kind))('$name: $expect', async (forgery) => {
    const forged = forge(kind === 'developer' ? developer.idToken : edge, forgery, keys)
    const got = await (kind === 'developer' ? outcomes(forged, edge) : outcomes(developer.idToken, forged))
    const words =
      forgery.expect === 'accepted' ? ['accepted', 'accepted'] : ['invalid_grant', 'invalid_request']
    // No field of a form may hold a NUL, whatever it is.
    expect(got).toEqual(forgery.spell === 'a NUL byte after' ? Array(2).fill('invalid_request') : words)
  })
})

describe('a hostile access token at the runtime', () => {
  it.each(casesOf('access'))('$name: $expect', async (forgery) => {
    const edgeAccessToken = forge(access, forgery, keys)
    const got = await runtimeOf(stack)
      .associateAccount({ edgeAccessToken })
      .then(
        () => 'accepted',
        (cause: unknown) => (cause instanceof RpcFailure ? cause.reason : String(cause)),
      )
    expect(got).toBe(forgery.expect)
  })
})

describe('a hostile access token at a backend service', () => {
  it.each(casesOf('access'))('$name: $expect', async (forgery) => {
    const verifier = createAccessTokenVerifier({ issuer: stack.identity.url })
    const got = await verifier.verify(forge(access, forgery, keys)).then(
      () => 'accepted',
      (cause: { reason?: string }) => cause.reason ?? String(cause),
    )
    // Here a whole Authorization header may be given.
    expect(got).toBe(forgery.spell === 'Bearer before' ? 'accepted' : forgery.expect)
  })
})

describe('an access token that is good, but not here', () => {
  const forged = (payload: Record<string, unknown>) => forge(access, { name: '', payload, expect: '' }, keys)
  const reasonOf = (call: Promise<unknown>) =>
    call.then(
      () => 'accepted',
      (cause: RpcFailure) => cause.reason,
    )

  it.each([
    ['of another node', { node_id: '0'.repeat(56) }, 'wrong_node'],
    ['without the scope', { scope: 'openid' }, 'insufficient_scope'],
    [
      'with a scope that only begins alike',
      { scope: 'edge:account:associated edge:account' },
      'insufficient_scope',
    ],
    ['of another account', { account_id: 'somebody-else' }, 'already_associated'],
  ])('%s', async (_, payload, reason) => {
    await runtimeOf(stack).associateAccount({ edgeAccessToken: access })
    expect(await reasonOf(runtimeOf(stack).associateAccount({ edgeAccessToken: forged(payload) }))).toBe(
      reason,
    )
  })

  it('of another account, for a method of the associated one', async () => {
    const call = runtimeOf(stack).getGps({ edgeAccessToken: forged({ account_id: 'somebody-else' }) })
    expect(await reasonOf(call)).toBe('wrong_account')
  })
})
