/** Keys are rotated while tokens are made and checked at full speed: no client notices. */
import { setTimeout as pause } from 'node:timers/promises'
import { AccessTokenError, createAccessTokenVerifier } from '@selvedge/client/backend'
import * as jose from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { adminOf, createDeveloper, type Developer, runtimeOf } from '../harness/flow.ts'
import { post } from '../harness/oauth.ts'
import { type Stack, startStack } from '../harness/processes.ts'
import { randomOf } from '../harness/seed.ts'

const random = randomOf('rotation-under-load')

const tokens = 400
const rotations = 3
/** Tokens that are made and checked at the same time. */
const lanes = 50

let stack: Stack
let developer: Developer
beforeAll(async () => {
  stack = await startStack({ identity: ['--limits.address=1000000', '--limits.client=1000000'] })
  developer = await createDeveloper(stack.state)
})
afterAll(() => stack.stop())

it(`no verification fails while keys are rotated and ${lanes} tokens at a time are made`, async () => {
  const runtime = runtimeOf(stack)
  const backend = createAccessTokenVerifier({ issuer: stack.identity.url })
  const form = {
    grant_type: 'id_token_signin',
    client_id: developer.clientId,
    id_token: developer.idToken,
    edge_id_token: (await runtime.getEdgeIdToken()).id_token,
    scope: 'openid edge:account:associate',
  }
  const counts = { made: 0, failures: [] as string[] }
  const kids = new Set<string>()

  /** A busy machine may get more than it can answer: then the service names the seconds to wait. */
  async function postWhenItMay() {
    for (;;) {
      const answer = await post(`${stack.identity.url}/token`, form)
      const wait = Number(answer.headers.get('retry-after'))
      if (answer.status !== 503 || !(wait > 0)) return answer
      await pause(wait * 1000 * (1 + random.below(2 ** 32) / 2 ** 32))
    }
  }

  /** Keys that could not be fetched in time are no verdict: 503 says that the request may be repeated. */
  async function verify(token: string): Promise<void> {
    for (let left = 20; ; left--) {
      const problem = await backend.verify(token).catch((cause: AccessTokenError) => cause)
      if (!(problem instanceof AccessTokenError)) return
      if (problem.status !== 503 || left === 0) throw problem
      await pause(500 * (1 + random.below(2 ** 32) / 2 ** 32))
    }
  }

  async function make(at: number): Promise<void> {
    try {
      const { status, body } = await postWhenItMay()
      if (status !== 200) throw new Error(`${status} ${body.error_description}`)
      const token = body.access_token!
      kids.add(jose.decodeProtectedHeader(token).kid!)
      await verify(token)
      // The device as well, now and then: each call there is one more signature to check.
      if (at % 10 === 0) await runtime.associateAccount({ edgeAccessToken: token })
      counts.made++
      if (counts.made % Math.ceil(tokens / (rotations + 1)) === 0) await adminOf(stack.state)['keys.rotate']()
    } catch (cause) {
      counts.failures.push(String(cause))
    }
  }

  let begun = 0
  const lane = async () => {
    while (begun < tokens) await make(begun++)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  expect([...new Set(counts.failures)]).toEqual([])
  expect(counts.made).toBe(tokens)
  expect(kids.size).toBe(rotations + 1)
})
