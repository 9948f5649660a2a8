/** Two whole runtimes from one copied folder, as after an image was made of a card that had run, and restored backups beside them. */
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { createRuntimeClient } from '@selvedge/client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { startWithOwner } from '../harness/console.ts'
import { freePorts, type Program, startProgram, temporaryFolder } from '../harness/processes.ts'

const minute = 60_000

let service: Awaited<ReturnType<typeof startWithOwner>>
let folder: Awaited<ReturnType<typeof temporaryFolder>>
const running: Program[] = []
beforeEach(async () => {
  service = await startWithOwner()
  folder = await temporaryFolder()
})
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop()
  await service.stop()
  await folder.remove()
})

/** Starts the runtime of a folder. Its clock and that of the service pass together. */
async function start(state: string, more: Record<string, string> = {}) {
  const program = await startProgram('runtime', {
    ...{ SELVEDGE_STATE: join(folder.path, state), SELVEDGE_IDENTITY_URL: service.identity.url },
    ...{ SELVEDGE_DISCOVERY_URL: 'http://127.0.0.1:9', ...freePorts, ...service.clock.env, ...more },
  })
  running.push(program)
  const me = () => createRuntimeClient({ url: program.url }).getMe()
  return {
    me,
    isCopied: async () => (await me()).notices.some(({ reason }) => reason === 'device_copied'),
    stop: async () => {
      running.splice(running.indexOf(program), 1)
      await program.stop()
    },
  }
}
const copy = (from: string, to: string) =>
  cp(join(folder.path, from), join(folder.path, to), { recursive: true })
const copiesInAudit = async () =>
  (await service.owner.api['audit.list']({ before: null, action: 'device.copy' } as never)) as unknown[]

it('are noticed by both, and in the audit log once', async () => {
  const { key } = await service.owner.api['join_key.create']({
    ...{ title: '', name: '', tags: [], uses: 1, approve: false, project: null },
    until: new Date(Date.now() + 3_600_000).toISOString(),
  })
  const first = await start('card', { SELVEDGE_JOIN_KEY: key })
  await expect.poll(async () => (await first.me()).accountId).not.toBe('')
  await first.stop()
  await copy('card', 'copy')
  const one = await start('card')
  await service.clock.pass(3 * minute)
  const other = await start('copy')
  expect((await one.me()).nodeId).toBe((await other.me()).nodeId)
  const areNoticed = async () => (await one.isCopied()) && (await other.isCopied())
  // On a slow machine, a request may arrive some passes later, and not count as a return.
  for (let passes = 0; passes < 240 && !(await areNoticed()); passes++) await service.clock.pass(3 * minute)
  expect(await areNoticed()).toBe(true)
  expect(await copiesInAudit()).toHaveLength(1)
})

it('are not seen in a device that is started again and restored from backups', async () => {
  const first = await start('card')
  await expect.poll(async () => (await first.me()).network.identity.reachable).toBe(true)
  await first.stop()
  await copy('card', 'backup')
  for (let time = 0; time < 5; time++) {
    const again = await start('card')
    await expect.poll(async () => (await again.me()).network.identity.reachable).toBe(true)
    await service.clock.pass(11 * minute)
    expect(await again.isCopied()).toBe(false)
    await again.stop()
    await copy('backup', 'card')
  }
})
