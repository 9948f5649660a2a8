/** JSON-RPC clients of others, unmodified, over HTTP and WebSocket: `npm ci --prefix tests/system/clients/libraries` installs them. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessToken, createDeveloper, type Developer } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { root, type Stack, startStack } from '../../harness/processes.ts'

describe('the JSON-RPC client', needs('client libraries'), () => {
  let stack: Stack
  let developer: Developer
  let token: string
  beforeAll(async () => {
    stack = await startStack()
    developer = await createDeveloper(stack.state)
    token = await accessToken(stack, developer)
  })
  afterAll(() => stack.stop())

  const program = join(root, 'tests/system/clients/libraries/call.mjs')

  it.each([
    'json-rpc-2.0 over HTTP',
    'json-rpc-2.0 over WebSocket',
    'jayson over HTTP',
    'jayson over WebSocket',
    'ethers JsonRpcProvider',
    'ethers WebSocketProvider',
    'typed-rpc over HTTP',
    'typed-rpc over WebSocket',
    'vscode-jsonrpc over WebSocket',
    'ws',
  ])('%s gets results and errors', async (name) => {
    const args = [program, name, stack.runtime.url, token]
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args)
    expect(stderr).toBe('')
    const me = { nodeId: expect.stringMatching(/^[0-9a-f]{56}$/), version: expect.any(String) }
    expect(JSON.parse(stdout)).toMatchObject({
      getMe: me,
      'getMe of old clients': me,
      getEdgeIdToken: { id_token: expect.any(String) },
      associateAccount: { accountId: developer.accountId },
      getNodes: expect.anything(),
      'a wrong token': { code: -32001, message: expect.any(String) },
      'an unknown method': { code: -32601, message: expect.any(String) },
      '20 at once': name === 'ws' ? 1 : 20,
    })
  })
})
