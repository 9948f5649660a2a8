import { createAccessTokenVerifier } from '@selvedge/client/backend'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { accessToken, createDeveloper, runtimeOf } from '../../tests/harness/flow.ts'
import { type Stack, startStack } from '../../tests/harness/processes.ts'
import { createBackend } from './src/backend.ts'

let stack: Stack
let backend: ReturnType<typeof createBackend>
let url: string
beforeAll(async () => {
  stack = await startStack()
  backend = createBackend(
    createAccessTokenVerifier({ issuer: stack.identity.url, scope: 'edge:mcm' }),
    () => 'https://backend.example',
  )
  url = await backend.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(async () => {
  await backend.close()
  await stack.stop()
})

const ask = async (token?: string) => {
  const response = await fetch(
    `${url}/whoami`,
    token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } },
  )
  return {
    status: response.status,
    authenticate: response.headers.get('www-authenticate'),
    body: await response.json(),
  }
}

it('the example knows a device by its access token, and tells the others what is missing', async () => {
  const developer = await createDeveloper(stack.state)
  const { nodeId } = await runtimeOf(stack).getMe()
  expect(await ask(await accessToken(stack, developer))).toMatchObject({
    status: 200,
    body: { account: developer.accountId, node: nodeId },
  })
  expect(await ask()).toMatchObject({ status: 401, authenticate: 'Bearer' })
  expect(await ask('x.y.z')).toMatchObject({
    status: 401,
    authenticate: expect.stringContaining('error="invalid_token"'),
  })
  expect(await ask(await accessToken(stack, developer, 'openid'))).toMatchObject({
    status: 403,
    authenticate: expect.stringContaining('error="insufficient_scope"'),
  })
})
