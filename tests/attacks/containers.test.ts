/** Attacks on containers that ended the runtime. */
import type { RpcFailure } from '@selvedge/client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { functionImage } from '../harness/archives.ts'
import { descendantsOf } from '../harness/instances.ts'
import { type Services, startServices } from '../harness/services.ts'

let services: Services
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.stop())

it('24 deployments of one name at once, and the removal of the account, leave the runtime up and nothing running', async () => {
  const { token } = services
  const { id: image } = await services.deployImage(
    functionImage('export default { fetch: () => new Response("up") }', 'crowd'),
  )
  const { process } = services.stack.runtime
  for (let round = 0; round < 2; round++) {
    const deployments = Array.from({ length: 24 }, (_, index) =>
      services
        .runtime()
        .deployContainer({
          edgeAccessToken: token,
          spec: { name: `crowd${round}`, image, env: { ROUND: String(index), 'MCM.IDLE_SEC': '0' } },
        })
        .then(
          () => 'deployed',
          (cause: RpcFailure) => cause.reason,
        ),
    )
    if (round < 1) {
      const outcomes = await Promise.all(deployments)
      expect(new Set(outcomes)).toEqual(new Set(['deployed', 'busy']))
      continue
    }
    const removed = services.runtime().unassociateAccount({ edgeAccessToken: token })
    const outcomes = await Promise.all(deployments)
    await removed
    for (const outcome of outcomes)
      expect(['deployed', 'busy', 'wrong_account', 'not_associated', 'token_revoked', 'conflict']).toContain(
        outcome,
      )
  }
  expect([process.exitCode, process.signalCode]).toEqual([null, null])
  expect((await services.runtime().getMe()).notices).toEqual([])
  // Nothing of the former account goes on, not even what was being deployed when it went.
  await expect.poll(() => descendantsOf(services.runtimePid())).toEqual([])
})
