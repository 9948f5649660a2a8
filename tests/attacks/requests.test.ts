import { readFileSync } from 'node:fs'
import { grantTypes, tokenTypes } from '@selvedge/protocol'
import { discoveryAudience } from '@selvedge/protocol/tokens'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { accessToken, adminOf, createDeveloper, runtimeOf } from '../harness/flow.ts'
import { freePorts, type Stack, startProgram, startStack, temporaryFolder } from '../harness/processes.ts'
import { type Forgery, forge, readIssuerKeys } from './forge.ts'

interface RequestCase {
  readonly name: string
  readonly form?: Readonly<Record<string, string | null>>
  /** Field that is sent a second time. */
  readonly again?: string
  readonly append?: string
  readonly body?: string
  readonly json?: true
  readonly type?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly exchange?: true
  readonly status: number
  readonly error: string | null
}

const cases: readonly RequestCase[] = JSON.parse(
  readFileSync(new URL('requests.json', import.meta.url), 'utf8'),
)

let stack: Stack
const stand: Record<string, string> = {}

beforeAll(async () => {
  stack = await startStack()
  const admin = adminOf(stack.state)
  const keys = readIssuerKeys(stack.state)
  const forged = (token: string, changes: Partial<Forgery>) =>
    forge(token, { name: '', expect: '', ...changes }, keys)
  const [own, other, narrow, disabled, revoked] = await Promise.all([
    createDeveloper(stack.state),
    createDeveloper(stack.state),
    createDeveloper(stack.state, { scopes: ['openid'] }),
    createDeveloper(stack.state),
    createDeveloper(stack.state),
  ])
  await admin['project.disable']({ clientId: disabled.clientId })
  const { id_token: edge } = await runtimeOf(stack).getEdgeIdToken()
  const again = await admin['token.developer.create']({
    email: (await admin['account.list']()).find(({ accountId }) => accountId === own.accountId)!.email,
    clientId: own.clientId,
    days: 1,
  })
  await admin['token.developer.revoke']({ jti: again.jti })
  Object.assign(stand, {
    client_id: own.clientId,
    id_token: own.idToken,
    edge_id_token: edge,
    access: await accessToken(stack, own),
    other: other.clientId,
    other_developer: other.idToken,
    narrow: narrow.clientId,
    narrow_developer: narrow.idToken,
    disabled: disabled.clientId,
    revoked: revoked.clientId,
    revoked_developer: again.idToken,
    revoked_twin: forged(again.idToken, { spell: 'twin signature' }),
    unknown_edge: forged(edge, { payload: { node_id: '0'.repeat(56) } }),
    discovery_edge: forged(edge, { payload: { aud: discoveryAudience } }),
    blocked_edge: await edgeTokenOfBlockedNode(),
  })
})
afterAll(() => stack.stop())

async function edgeTokenOfBlockedNode(): Promise<string> {
  const folder = await temporaryFolder()
  const env = { SELVEDGE_STATE: folder.path, ...freePorts, SELVEDGE_IDENTITY_URL: stack.identity.url }
  const runtime = await startProgram('runtime', env)
  const { id_token } = await runtimeOf({ runtime }).getEdgeIdToken()
  const { nodeId } = await runtimeOf({ runtime }).getMe()
  await adminOf(stack.state)['node.block']({ nodeId })
  await runtime.stop()
  await folder.remove()
  return id_token
}

function fieldsOf({ exchange, form = {} }: RequestCase): Record<string, string> {
  const shared = { client_id: stand.client_id!, scope: 'openid edge:mcm' }
  const { id_token, edge_id_token } = stand as Record<'id_token' | 'edge_id_token', string>
  const fields: Record<string, string> = exchange
    ? {
        ...shared,
        grant_type: grantTypes.tokenExchange,
        subject_token: id_token,
        subject_token_type: tokenTypes.idToken,
        actor_token: edge_id_token,
        actor_token_type: tokenTypes.idToken,
      }
    : { ...shared, grant_type: grantTypes.idTokenSignin, id_token, edge_id_token }
  for (const [name, value] of Object.entries(form)) {
    if (value === null) delete fields[name]
    else fields[name] = value.startsWith('$') ? stand[value.slice(1)]! : value
  }
  return fields
}

function bodyOf(request: RequestCase): string {
  if (request.body !== undefined) return request.body
  const fields = fieldsOf(request)
  if (request.json) return JSON.stringify(fields)
  const repeated =
    request.again === undefined ? '' : `&${new URLSearchParams({ [request.again]: fields[request.again]! })}`
  return new URLSearchParams(fields).toString() + repeated + (request.append ?? '')
}

it.each(cases)('$name: $status $error', async (request) => {
  const method = request.method ?? 'POST'
  const headers = { 'Content-Type': request.type ?? 'application/x-www-form-urlencoded', ...request.headers }
  const response = await fetch(`${stack.identity.url}/token`, {
    method,
    headers,
    ...(method === 'POST' && { body: bodyOf(request) }),
  })
  const body = (await response.json()) as Record<string, unknown>
  expect({
    status: response.status,
    error: body.error ?? null,
    detail: body.error_description,
  }).toMatchObject({
    status: request.status,
    error: request.error,
  })
  expect(response.headers.get('cache-control')).toBe('no-store')
  // A refusal never repeats a secret.
  if (request.error) expect(JSON.stringify(body)).not.toMatch(/eyJ[\w-]+\./)
})
