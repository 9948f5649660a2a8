/** `selvedge doctor --production` on a running installation. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cliEnvOf, runCli } from '../../harness/cli.ts'
import { type Stack, startStack, temporaryFolder } from '../../harness/processes.ts'

interface Check {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
  readonly hints: readonly string[]
}

let stack: Stack
beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack.stop())

const check = async (env = cliEnvOf(stack)) => {
  const { code, out, errors } = await runCli(['doctor', '--production', '--json'], env)
  expect(errors).toBe('')
  return { code, checks: (JSON.parse(out) as { checks: Check[] }).checks }
}
const failuresOf = (checks: readonly Check[], name: string) =>
  checks.filter((each) => each.name === name && !each.ok).map(({ detail }) => detail)

it('a development stack is not fit: the exit code is 1, and each reason has a fix', async () => {
  const { code, checks } = await check()
  expect(code).toBe(1)
  expect(failuresOf(checks, 'tls')).toHaveLength(2)
  expect(failuresOf(checks, 'backup')).toEqual([
    'identity: the store was never backed up',
    'discovery: the store was never backed up',
  ])
  expect(failuresOf(checks, 'state')).toEqual([])
  const { out } = await runCli(['doctor', '--production'], cliEnvOf(stack))
  expect(out).toContain('selvedge admin store backup <file> --service discovery')
  // Without the flag nothing of that is checked, and the exit code stays 0.
  expect(await runCli(['doctor'], cliEnvOf(stack))).toMatchObject({
    code: 0,
    out: expect.not.stringContaining('backup'),
  })
})

it('what was fixed is not named again', async () => {
  for (const service of ['identity', 'discovery'])
    await runCli(
      ['admin', 'store', 'backup', join(stack.state, service, 'copy'), '--service', service],
      cliEnvOf(stack),
    )
  chmodSync(stack.state, 0o755)
  const config = join(stack.state, 'config.json')
  writeFileSync(config, JSON.stringify({ runtime: { allowedOrigins: ['http://\u001b[2Jevil.example'] } }))
  chmodSync(config, 0o600)
  const { checks } = await check({ ...cliEnvOf(stack), SELVEDGE_CONFIG: config })
  expect(failuresOf(checks, 'backup')).toEqual([])
  expect(failuresOf(checks, 'state')).toEqual([expect.stringContaining('mode 0755')])
  expect(failuresOf(checks, 'settings')).toEqual([expect.stringContaining('evil.example')])
  const { out } = await runCli(['doctor', '--production'], { ...cliEnvOf(stack), SELVEDGE_CONFIG: config })
  expect(out).not.toContain('\u001b')
  chmodSync(stack.state, 0o700)
})

it('a server without a runtime is checked as well', async () => {
  const folder = await temporaryFolder()
  mkdirSync(join(folder.path, 'identity'))
  writeFileSync(join(folder.path, 'identity', 'identity.db'), '')
  const { code, checks } = await check(cliEnvOf({ state: folder.path }))
  expect(code).toBe(1)
  expect(failuresOf(checks, 'runtime')).toEqual([])
  expect(failuresOf(checks, 'backup')).toEqual(['identity: the store was never backed up'])
  await folder.remove()
})
