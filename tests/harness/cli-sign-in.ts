import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { cliEnvOf, cliPath } from './cli.ts'
import type { ConsoleSession } from './console.ts'
import type { Stack } from './processes.ts'

/** Signs an owner in at the command line for a project: the owner approves it in the console. */
export async function signInToCli(
  stack: Pick<Stack, 'state'>,
  clientId: string,
  owner: ConsoleSession,
): Promise<void> {
  const args = ['login', '--client-id', clientId, '--scope', 'openid edge:mcm offline_access', '--json']
  const child = spawn(process.execPath, [cliPath, ...args], {
    env: cliEnvOf(stack),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let isApproved = false
  for await (const line of createInterface({ input: child.stdout })) {
    const { user_code: userCode } = JSON.parse(line)
    if (isApproved || !userCode) continue
    isApproved = true
    await owner.api['device_request.decide']({ userCode, approve: true })
  }
}
