/** The examples for devices without Node.js, run against a whole stack. */
import { execFile, execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDeveloper, type Developer, runtimeOf } from '../tests/harness/flow.ts'
import { needs } from '../tests/harness/installed.ts'
import { root, type Stack, startStack, temporaryFolder } from '../tests/harness/processes.ts'

let stack: Stack
let developer: Developer
let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeAll(async () => {
  folder = await temporaryFolder()
  stack = await startStack({})
  developer = await createDeveloper(stack.state)
})
afterAll(async () => {
  await stack.stop()
  await folder.remove()
})

async function run(program: string, args: string[] = []): Promise<void> {
  const env = {
    PATH: process.env.PATH,
    CLIENT_ID: developer.clientId,
    DEVELOPER_ID_TOKEN: developer.idToken,
    SELVEDGE_URL: stack.runtime.url,
    SELVEDGE_IDENTITY_URL: stack.identity.url,
  }
  const { stdout, stderr } = await promisify(execFile)(program, args, { env })
  const { nodeId, accountId } = await runtimeOf(stack).getMe()
  expect({ stdout, stderr }).toEqual({
    stdout: `node ${nodeId}\naccount ${accountId}\nlocation ok\n`,
    stderr: '',
  })
  expect(accountId).toBe(developer.accountId)
  const refused = promisify(execFile)(program, args, { env: { ...env, DEVELOPER_ID_TOKEN: 'x' } })
  await expect(refused).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('invalid_') })
}

it('Python', needs('python3'), () => run('python3', [join(root, 'examples/python/selvedge.py')]))

it('C', needs('gcc', 'curl-config'), async () => {
  const program = join(folder.path, 'selvedge')
  const source = join(root, 'examples/c/selvedge.c')
  const strict = ['-std=gnu11', '-Wall', '-Wextra', '-Werror', '-fsanitize=address,undefined']
  execFileSync('gcc', [...strict, '-o', program, source, '-lcurl', '-lcjson'], { stdio: 'pipe' })
  await run(program)
})
