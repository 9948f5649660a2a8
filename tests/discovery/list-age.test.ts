/** What the discovery service decides while the list of revoked tokens cannot be fetched, and after a restart without a network. */
import type { OAuthFailure } from '@selvedge/client'
import { discoveryPaths } from '@selvedge/protocol'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDevice, type Device, fixAt } from '../harness/device.ts'
import { adminOf, createDeveloper } from '../harness/flow.ts'
import { type Program, type Stack, startProgram, startStack } from '../harness/processes.ts'
import { createProgramClock, type ProgramClock } from '../harness/program-clock.ts'

let clock: ProgramClock
let stack: Stack
let device: Device
let blocked: Device
const programs: Program[] = []
beforeAll(async () => {
  clock = await createProgramClock()
  const discovery = ['--revocations.interval=1', '--revocations.maxAge=30']
  stack = await startStack({ discovery, env: clock.env })
  const urls = { identityUrl: stack.identity.url, discoveryUrl: stack.discovery.url }
  const developer = await createDeveloper(stack.state)
  device = await createDevice(urls, developer)
  blocked = await createDevice(urls, developer, 'blocked')
  for (const each of [device, blocked]) await each.report(fixAt(13, 52))
})
afterAll(async () => {
  for (const each of programs) await each.stop()
  await stack?.stop()
  await clock?.remove()
})

/** Starts a program of the stack again, at its address. */
async function startAgain(name: 'identity' | 'discovery', args: readonly string[] = []): Promise<Program> {
  const program = await startProgram(
    name,
    {
      ...clock.env,
      SELVEDGE_STATE: stack.state,
      [`SELVEDGE_${name.toUpperCase()}_PORT`]: new URL(stack[name].url).port,
      SELVEDGE_IDENTITY_URL: stack.identity.url,
      SELVEDGE_DISCOVERY_URL: stack.discovery.url,
    },
    args,
  )
  programs.push(program)
  return program
}
const report = (by: Device) =>
  by.report(fixAt(13, 52)).then(
    () => 'accepted',
    ({ status, reason, message }: OAuthFailure) => `${status} ${reason}: ${message}`,
  )
/** Reads the last fix of a device, with its access token. */
async function lastFix({ nodeId, accessToken }: Device): Promise<string> {
  const headers = { Authorization: `Bearer ${accessToken}` }
  const response = await fetch(stack.discovery.url + discoveryPaths.fixOf(nodeId), { headers })
  const { error, error_description: why } = (await response.json()) as Record<string, string>
  const retry = response.headers.get('retry-after')
  return response.ok ? 'accepted' : `${response.status} ${error}: ${why} (retry after ${retry})`
}
/** Lets time pass and repeats a call until its answer matches. */
async function until(pattern: RegExp, call: () => Promise<string>): Promise<string> {
  let answer = ''
  let left = 100
  await clock.passWhile(async () => !pattern.test((answer = await call())) && left-- > 0)
  return answer
}

it('tokens are refused with 503 when the list was not confirmed for its longest age, and accepted when it is again', async () => {
  expect(await lastFix(device)).toBe('accepted')
  await stack.identity.stop()
  // The list that is held still decides, and so do the known keys.
  expect(await lastFix(device)).toBe('accepted')
  await clock.pass(30_000)
  expect(await until(/503/, () => lastFix(device))).toMatch(
    /^503 temporarily_unavailable: the list of revoked tokens of .* could not be fetched for 30 s.*\(retry after 5\)$/,
  )
  // A session was begun by a token that was checked; it ends by itself within ten minutes.
  expect(await report(device)).toBe('accepted')
  await startAgain('identity')
  expect(await until(/accepted/, () => lastFix(device))).toBe('accepted')
})

it('what was revoked before a restart is refused right after it, without a network', async () => {
  await adminOf(stack.state)['node.block']({ nodeId: blocked.nodeId })
  expect(await until(/^401/, () => report(blocked))).toMatch(/node was blocked/)
  for (const each of programs) await each.stop()
  await stack.discovery.stop()
  await startAgain('discovery')
  expect(await report(blocked)).toMatch(/^401 invalid_token: the session was revoked: its node was blocked/)
  expect(await report(device)).toBe('accepted')
  expect(await lastFix(blocked)).toMatch(/^(401|503) /)
})
