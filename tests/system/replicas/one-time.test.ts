/** What works once works once, whichever of two replicas is asked. */
import { generateKeyPairSync } from 'node:crypto'
import { identityPaths } from '@selvedge/protocol'
import { publicJwk } from '@selvedge/protocol/tokens'
import { systemClock } from '@selvedge/service-kit/clock'
import { createProof } from '@selvedge/service-kit/tokens'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPkce, decide, redeem, requestOf } from '../../harness/app.ts'
import { type ConsoleSession, enterByLink, openConsole, projectWith } from '../../harness/console.ts'
import { adminOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { post } from '../../harness/oauth.ts'
import { type Replicas, startReplicas } from '../../harness/replicas.ts'

describe('on two replicas', needs('postgres'), () => {
  let replicas: Replicas
  let owner: ConsoleSession
  beforeAll(async () => {
    replicas = await startReplicas(['--enrolment=code'])
    const admin = adminOf(replicas.all[0].state)
    await admin['account.create']({ email: 'ada@example.com' })
    const { link } = await admin['account.link']({ email: 'ada@example.com' })
    owner = await enterByLink(replicas.url, link, 'ada@example.com')
  })
  afterAll(() => replicas.stop())

  const urlOf = (at: number) => replicas.all[at % 2]!.url
  /** Ten at the same time, of which each second one goes to the other replica. */
  async function winners(use: (url: string, at: number) => Promise<unknown>): Promise<number> {
    const uses = await Promise.allSettled(Array.from({ length: 10 }, (_, at) => use(urlOf(at), at)))
    return uses.filter(({ status }) => status === 'fulfilled').length
  }
  // The console is at the balancer, which gives each connection to the next replica.
  const consoleOf = () => openConsole(replicas.url)
  const rounds = [1, 2, 3]

  it.each(rounds)('an invitation lets one in of ten, round %i', async (round) => {
    const { link } = await owner.api['member.invite']({ role: 'member' })
    expect(await winners((_, at) => enterByLink(replicas.url, link, `p${round}-${at}@example.com`))).toBe(1)
  })

  it.each(rounds)('a link of the operator lets its person in once, round %i', async () => {
    const { link } = await adminOf(replicas.all[1].state)['account.link']({ email: 'ada@example.com' })
    expect(await winners(() => enterByLink(replicas.url, link, 'ada@example.com'))).toBe(1)
  })

  it('a recovery code signs in once', async () => {
    const [code = ''] = (await owner.api['recovery.create']()).codes
    expect(
      await winners(async () => consoleOf().api['sign_in.recovery']({ email: 'ada@example.com', code })),
    ).toBe(1)
  })

  const begin = async () =>
    (
      await post(`${urlOf(0)}/device_authorization`, {
        client_id: 'selvedge-cli',
        scope: 'openid offline_access',
      })
    ).body

  // One round: codes that wait for nobody count as guesses.
  it('a code of a terminal is decided once, and becomes one sign-in', async () => {
    const begun = await begin()
    expect(
      await winners(() =>
        owner.api['device_request.decide']({
          userCode: begun.user_code!,
          approve: true,
        }),
      ),
    ).toBe(1)
    const form = {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: 'selvedge-cli',
      device_code: begun.device_code!,
    }
    const answers = await Promise.all(Array.from({ length: 10 }, (_, at) => post(`${urlOf(at)}/token`, form)))
    const tokens = new Set(answers.flatMap(({ body }) => (body.refresh_token ? [body.refresh_token] : [])))
    expect(tokens.size).toBe(1)
  })

  it.each(rounds)('a code of an app is redeemed once, and not at all in the end, round %i', async () => {
    const redirectUri = 'https://app.example/signed-in'
    const project = projectWith({ redirectUris: [redirectUri] })
    const app = { clientId: (await owner.api['project.create'](project)).clientId, redirectUri }
    const pkce = createPkce()
    const code = (await decide(owner, requestOf(app, pkce))).searchParams.get('code')!
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) => redeem(urlOf(at), app, { code, ...pkce })),
    )
    const got = answers.filter(({ status }) => status === 200)
    expect(got.length).toBeLessThanOrEqual(1)
    // The nine others revoked what the first one got.
    for (const { body } of got)
      for (const at of [0, 1])
        await expect
          .poll(async () => {
            const form = { token: body.access_token!, client_id: app.clientId }
            return (await post(`${urlOf(at)}/introspect`, form)).body.active
          })
          .toBe(false)
  })

  it.each(rounds)('a pushed request leads to one code, round %i', async () => {
    const redirectUri = 'https://app.example/signed-in'
    const project = projectWith({ redirectUris: [redirectUri] })
    const app = { clientId: (await owner.api['project.create'](project)).clientId, redirectUri }
    const form = Object.fromEntries(new URLSearchParams(requestOf(app, createPkce(), { prompt: 'consent' })))
    const pushed = await post(`${urlOf(0)}/par`, form)
    const query = `client_id=${app.clientId}&request_uri=${pushed.body.request_uri}`
    const begun = await owner.api['authorization.begin']({ query, ticket: null })
    if (begun.step !== 'consent') throw new Error(begun.step)
    const { ticket } = begun
    const approve = async () => {
      const { step } = await owner.api['authorization.decide']({ query, ticket, approve: true })
      if (step !== 'return') throw new Error(step)
    }
    expect(await winners(approve)).toBe(1)
  })

  /** A node that was never seen. */
  function createNode() {
    const { privateKey: key, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = publicJwk.parse(publicKey.export({ format: 'jwk' }))
    const htu = replicas.url + identityPaths.edgeToken
    return (nonce: string | undefined, code: string) =>
      createProof({
        key,
        jwk,
        htm: 'POST',
        htu,
        clock: systemClock,
        nonce,
        node: { name: 'n', hmac_key: jwk, enrolment_code: code },
      })
  }
  const send = (url: string, proof: string) =>
    fetch(url + identityPaths.edgeToken, { method: 'POST', headers: { DPoP: proof } })
  const freshNonce = async () =>
    (await send(urlOf(0), createNode()(undefined, 'x'))).headers.get('dpop-nonce')!
  const expectGood = async (answer: Promise<Response>) => {
    if (!(await answer).ok) throw new Error('refused')
  }

  it.each(rounds)('an enrolment code enrols one of ten nodes, round %i', async () => {
    const { code } = await adminOf(replicas.all[0].state)['enrolment.create']()
    const nonce = await freshNonce()
    expect(await winners((url) => expectGood(send(url, createNode()(nonce, code))))).toBe(1)
  })

  it.each(rounds)('a proof of a key is accepted once, round %i', async () => {
    const { code } = await adminOf(replicas.all[0].state)['enrolment.create']()
    const proof = createNode()(await freshNonce(), code)
    expect(await winners((url) => expectGood(send(url, proof)))).toBe(1)
  })

  it('the challenge of a passkey is answered once', async () => {
    const { challenge } = await consoleOf().api['sign_in.passkey.begin']()
    // Without a passkey nobody wins; the challenge is gone all the same.
    const response = { id: 'x', response: {} }
    expect(await winners(() => consoleOf().api['sign_in.passkey.finish']({ challenge, response }))).toBe(0)
  })

  it('tries of a password are counted together', async () => {
    const outcomes: string[] = []
    for (let at = 0; at < 8; at++)
      await consoleOf()
        .api['sign_in.password']({ email: 'nobody@example.com', password: 'wrong wrong wrong' })
        .catch(({ reason }) => outcomes.push(reason))
    expect(outcomes.filter((each) => each === 'credentials_invalid')).toHaveLength(5)
    expect(outcomes.filter((each) => each === 'busy')).toHaveLength(3)
  })
})
