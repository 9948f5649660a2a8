/** The mission's flow in one call each, for tests that need its outcome. */
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import {
  createIdentityClient,
  createRpcClient,
  createRuntimeClient,
  type Fetch,
  type RpcClient,
  type RuntimeClient,
} from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { type AdminMethods, adminMethods } from '@selvedge/protocol/admin'
import { testLimitMs } from './limits.ts'

export const adminOf = (state: string): RpcClient<AdminMethods> =>
  createRpcClient(adminMethods, {
    url: 'http://localhost',
    fetch: createNodeFetch({ socketPath: join(state, 'admin.sock') }),
  })

export interface Developer {
  readonly email: string
  readonly accountId: string
  readonly clientId: string
  readonly idToken: string
  readonly jti: string
}

let developers = 0
let projects = 0

/** An account with a project and a developer ID token. */
export async function createDeveloper(
  state: string,
  options: { scopes?: readonly string[] } = {},
): Promise<Developer> {
  const admin = adminOf(state)
  const email = `dev${++developers}-${process.pid}@example.com`
  const { accountId } = await admin['account.create']({ email })
  return { accountId, email, ...(await createProject(state, email, options)) }
}

/** One more project of an account, with a developer ID token for it. */
export async function createProject(
  state: string,
  email: string,
  options: { scopes?: readonly string[] } = {},
): Promise<Pick<Developer, 'clientId' | 'idToken' | 'jti'>> {
  const admin = adminOf(state)
  const { clientId } = await admin['project.create']({
    name: `test ${++projects}`,
    email,
    scopes: (options.scopes as never) ?? null,
    resources: ['https://backend.example'],
  })
  const { idToken, jti } = await admin['token.developer.create']({ email, clientId, days: null })
  return { clientId, idToken, jti }
}

export const allScopes = 'openid edge:mcm edge:clusters edge:account:associate edge:account:unassociate'

/** An access token of a developer for the node of a runtime. */
export async function accessToken(
  stack: { identity: { url: string }; runtime: { url: string } },
  { clientId, idToken }: Pick<Developer, 'clientId' | 'idToken'>,
  scope = allScopes,
): Promise<string> {
  const { id_token: edgeIdToken } = await runtimeOf(stack).getEdgeIdToken()
  const identity = createIdentityClient({ url: stack.identity.url, timeoutMs: testLimitMs })
  return (await identity.exchange({ clientId, developerIdToken: idToken, edgeIdToken, scope })).access_token
}

/**
 * Commands such as `podman` block the process of a test, so that it is late to notice that a connection was closed: no request is sent
 * before the turn of the event loop that notices it is over.
 */
const noticing: Fetch = async (url, init) => {
  await setImmediate()
  await setImmediate()
  return fetch(url, init)
}

export const runtimeOf = ({ runtime }: { runtime: { url: string } }): RuntimeClient =>
  createRuntimeClient({ url: runtime.url, timeoutMs: testLimitMs, fetch: noticing })
