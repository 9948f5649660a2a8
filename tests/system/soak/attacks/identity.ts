/** Attacks of the identity service: its OAuth endpoints and its console, by a client that has no account. */
import { cliClientId, identityPaths } from '@selvedge/protocol'
import { openConsole } from '../../../harness/console.ts'
import { type Attack, form, hold, json, pick, plan, send } from './send.ts'
import { forgedToken } from './tokens.ts'

const post = (
  name: string,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
) =>
  send({
    name,
    url: plan.identity + path,
    headers: { ...form, ...headers },
    body: new URLSearchParams(fields).toString(),
  })
const { introspect, authorize, endSession, deviceAuthorization } = identityPaths
const formPaths = [introspect, authorize, endSession, deviceAuthorization]
const nonsense = [
  'a=b&a=b',
  'grant_type=refresh_token&refresh_token=x&client_id=y',
  '%ff=%',
  'grant_type=id_token_signin&id_token=%00',
]

/** Signed as a page signs it: without a proof, no password is checked. */
async function tryPassword(): Promise<void> {
  const params = { email: 'ada@example.com', password: 'x'.repeat(100) }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'sign_in.password', params })
  const { DPoP } = await openConsole(plan.identity).signed('POST', identityPaths.consoleApi, body)
  const url = plan.identity + identityPaths.consoleApi
  send({ name: 'wrong password', url, headers: { ...json, DPoP }, body })
}

export const identityAttacks: readonly Attack[] = [
  [
    10,
    () =>
      send({
        name: 'wrong form',
        url: plan.identity + identityPaths.token,
        headers: form,
        body: pick(nonsense),
      }),
  ],
  [
    5,
    () =>
      post('forged developer token', identityPaths.token, {
        grant_type: 'id_token_signin',
        client_id: plan.clientId,
        id_token: forgedToken(),
        edge_id_token: forgedToken(),
        scope: 'openid',
      }),
  ],
  [
    2,
    () =>
      post('sign-ins that nobody approves', identityPaths.deviceAuthorization, { client_id: cliClientId }),
  ],
  [
    5,
    () =>
      post('revocation of nothing', identityPaths.revoke, { token: forgedToken(), client_id: cliClientId }),
  ],
  [
    5,
    () =>
      send({ name: 'form without a body', url: plan.identity + pick(formPaths), headers: form, body: '' }),
  ],
  [5, () => post('proof of nothing', identityPaths.edgeToken, {}, { DPoP: forgedToken() })],
  [1, () => post('foreign host', identityPaths.token, {}, { Host: 'attacker.example' })],
  [
    2,
    () =>
      send({
        name: 'deep JSON to the console',
        url: plan.identity + identityPaths.consoleApi,
        headers: json,
        body: '['.repeat(30_000),
      }),
  ],
  [1, () => void tryPassword().catch(() => undefined)],
  [
    1,
    () =>
      hold(
        'console page that is not read',
        Number(new URL(plan.identity).port),
        'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20),
      ),
  ],
]
