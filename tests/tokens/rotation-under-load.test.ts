/** Keys are rotated while five hundred tokens a second are made and checked: nobody notices. */
import { setTimeout as pause } from 'node:timers/promises'
import { AccessTokenError, createAccessTokenVerifier } from '@selvedge/client/backend'
import * as jose from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { adminOf, createDeveloper, type Developer, runtimeOf } from '../harness/flow.ts'
import { post } from '../harness/oauth.ts'
import { type Stack, startStack } from '../harness/processes.ts'
import { randomOf } from '../harness/seed.ts'

const random = randomOf('rotation-under-load')

const seconds = 6
const perSecond = 500
const rotations = 3
/** A machine that is slower than that has no longer queue than this. */
const maxUnderWay = 100

let stack: Stack
let developer: Developer
beforeAll(async () => {
  stack = await startStack({ identity: ['--limits.address=1000000', '--limits.client=1000000'] })
  developer = await createDeveloper(stack.state)
})
afterAll(() => stack.stop())

it(`no verification fails while keys are rotated under ${perSecond} tokens a second`, async () => {
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
    } catch (cause) {
      counts.failures.push(String(cause))
    }
  }

  const running = new Set<Promise<void>>()
  const begun = performance.now()
  const rotating = (async () => {
    for (let at = 0; at < rotations; at++) {
      await pause((seconds * 1000) / (rotations + 1))
      await adminOf(stack.state)['keys.rotate']()
    }
  })()
  // Open loop: each token has its time, whether the one before it is done or not.
  for (let at = 0; at < seconds * perSecond; at++) {
    const wait = begun + (at * 1000) / perSecond - performance.now()
    if (wait > 1) await pause(wait)
    while (running.size >= maxUnderWay) await Promise.race(running)
    const one = make(at).finally(() => running.delete(one))
    running.add(one)
  }
  await Promise.all([rotating, ...running])
  const took = (performance.now() - begun) / 1000
  console.info(
    `rotation under load: ${counts.made} tokens in ${took.toFixed(1)} s (${Math.round(counts.made / took)}/s) by ${kids.size} keys, ` +
      `${counts.failures.length} failed`,
  )
  expect([...new Set(counts.failures)]).toEqual([])
  expect(kids.size).toBe(rotations + 1)
}, 240_000)
