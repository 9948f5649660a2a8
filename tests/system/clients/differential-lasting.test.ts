/** Device flow and refresh: the same bad request to our service and to `oidc-provider`; the same error, or a reason why not. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleSession, enterByLink, projectWith } from '../../harness/console.ts'
import { post } from '../../harness/oauth.ts'
import { type Stack, startStack } from '../../harness/processes.ts'

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** A service under test: its URL, and how a person approves or denies a code there. */
interface Side {
  readonly url: string
  readonly device: string
  readonly decide: (userCode: string, approve: boolean) => Promise<void>
}

let stack: Stack
let person: ConsoleSession
let clientId: string
let otherId: string
let server: Server
let ours: Side
let oracle: Side

beforeAll(async () => {
  stack = await startStack()
  person = await enterByLink(stack.identity.url, stack.identity.ready.setup!, 'ada@example.com')
  clientId = (await person.api['project.create'](projectWith({}))).clientId
  otherId = (await person.api['project.create'](projectWith({}))).clientId
  ours = {
    url: stack.identity.url,
    device: '/device_authorization',
    decide: async (userCode, approve) =>
      void (await person.api['device_request.decide']({ userCode, approve })),
  }
  const provider = new Provider('http://127.0.0.1', {
    scopes: ['openid', 'offline_access', 'edge:mcm'],
    clients: [clientId, otherId].map((id) => ({
      client_id: id,
      token_endpoint_auth_method: 'none' as const,
      grant_types: [deviceGrant, 'refresh_token'],
      redirect_uris: [],
      response_types: [],
      scope: 'openid offline_access edge:mcm',
    })),
    features: { deviceFlow: { enabled: true }, devInteractions: { enabled: false } },
    findAccount: (_, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
  })
  server = createServer(provider.callback())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  oracle = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    device: '/device/auth',
    async decide(userCode, approve) {
      const code = await provider.DeviceCode.findByUserCode(userCode.replaceAll('-', ''))
      if (!code) throw new Error('the oracle knows no such code')
      if (approve) {
        const grant = new provider.Grant({ accountId: 'ada', clientId: code.clientId! })
        grant.addOIDCScope('openid offline_access edge:mcm')
        const grantId = await grant.save()
        Object.assign(code, {
          accountId: 'ada',
          grantId,
          scope: 'openid offline_access',
          authTime: Math.floor(Date.now() / 1000),
        })
      } else Object.assign(code, { error: 'access_denied', errorDescription: 'refused' })
      await code.save()
    },
  }
})
afterAll(async () => {
  server.close()
  await stack.stop()
})

const begin = async ({ url, device }: Side, more: Record<string, string> = {}) =>
  (await post(url + device, { client_id: clientId, scope: 'openid offline_access', ...more })).body
const redeem = ({ url }: Side, code: string, more: Record<string, string> = {}) =>
  post(`${url}/token`, { grant_type: deviceGrant, client_id: clientId, device_code: code, ...more })
const refresh = ({ url }: Side, token: string, more: Record<string, string> = {}) =>
  post(`${url}/token`, { grant_type: 'refresh_token', client_id: clientId, refresh_token: token, ...more })
const signedIn = async (side: Side): Promise<string> => {
  const { device_code: code, user_code: userCode } = await begin(side)
  await side.decide(userCode!, true)
  return (await redeem(side, code!)).body.refresh_token!
}
const outcome = async (answer: ReturnType<typeof post>) => {
  const { status, body } = await answer
  return status === 200 ? 'accepted' : body.error
}

const cases: Readonly<Record<string, (side: Side) => Promise<string | undefined>>> = {
  'device: begin without a client': (side) => outcome(post(side.url + side.device, { scope: 'openid' })),
  'device: begin as an unknown client': (side) =>
    outcome(post(side.url + side.device, { client_id: 'nobody', scope: 'openid' })),
  'device: poll before a decision': async (side) => outcome(redeem(side, (await begin(side)).device_code!)),
  'device: poll after it was refused': async (side) => {
    const { device_code: code, user_code: userCode } = await begin(side)
    await side.decide(userCode!, false)
    return outcome(redeem(side, code!))
  },
  'device: poll after it was approved': async (side) => {
    const { device_code: code, user_code: userCode } = await begin(side)
    await side.decide(userCode!, true)
    return outcome(redeem(side, code!))
  },
  'device: poll with an unknown code': (side) => outcome(redeem(side, 'x'.repeat(43))),
  'device: poll without a code': (side) =>
    outcome(post(`${side.url}/token`, { grant_type: deviceGrant, client_id: clientId })),
  'device: poll as another client': async (side) =>
    outcome(redeem(side, (await begin(side)).device_code!, { client_id: otherId })),
  'device: poll twice at once': async (side) => {
    const { device_code: code } = await begin(side)
    await redeem(side, code!)
    return outcome(redeem(side, code!))
  },
  'refresh: with a good token': async (side) => outcome(refresh(side, await signedIn(side))),
  'refresh: narrower': async (side) => outcome(refresh(side, await signedIn(side), { scope: 'openid' })),
  'refresh: wider': async (side) =>
    outcome(refresh(side, await signedIn(side), { scope: 'openid offline_access edge:mcm' })),
  'refresh: with an unknown token': (side) => outcome(refresh(side, 'x'.repeat(43))),
  'refresh: without a token': (side) =>
    outcome(post(`${side.url}/token`, { grant_type: 'refresh_token', client_id: clientId })),
  'refresh: as another client': async (side) =>
    outcome(refresh(side, await signedIn(side), { client_id: otherId })),
  'refresh: as an unknown client': async (side) =>
    outcome(refresh(side, await signedIn(side), { client_id: 'nobody' })),
  'refresh: the same token again, at once': async (side) => {
    const token = await signedIn(side)
    await refresh(side, token)
    return outcome(refresh(side, token))
  },
}

/** Where we mean to differ: what the oracle answers, what we answer, and why. */
const differences: Readonly<Record<string, readonly [string, string, string]>> = {
  'device: poll twice at once': [
    'authorization_pending',
    'slow_down',
    'RFC 8628 § 3.5 wants a terminal that is too fast to be told; the oracle never does',
  ],
  'refresh: the same token again, at once': [
    'invalid_grant',
    'accepted',
    'within the grace period the same successor is returned again: responses get lost at the edge',
  ],
}

describe('the oracle and we', () => {
  it.each(Object.keys(cases))('%s', async (name) => {
    const theirs = await cases[name]!(oracle)
    const own = await cases[name]!(ours)
    const [expected, meant] = differences[name] ?? [theirs, theirs]
    expect({ theirs, own }).toEqual({ theirs: expected, own: meant })
  })
})
