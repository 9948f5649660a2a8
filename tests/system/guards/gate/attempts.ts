/** Tests that the gate has to fail, and tests that it has to pass; run by `gate.test.ts`. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { type Watched, watch } from '../../../harness/gate.ts'
import { startProgram, temporaryFolder } from '../../../harness/processes.ts'

const daemon = fileURLToPath(new URL('daemon.ts', import.meta.url))
const children: ChildProcess[] = []
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

async function startHarmed(
  harm: string,
): Promise<Watched & { child: ChildProcess; suffer(): Promise<void> }> {
  const child = spawn(process.execPath, ['--conditions=source', daemon, harm], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  children.push(child)
  const watched = watch('harmed', child)
  await once(child, 'message')
  watched.mustRun()
  const suffer = async () => {
    child.send('now')
    await Promise.race([once(child, 'exit'), once(child.stderr!, 'data')])
  }
  return { ...watched, child, suffer }
}

describe('fails', () => {
  it('a test with a rejection that nothing handles', () => {
    void Promise.reject(new Error('left alone'))
  })
  it('a test with an exception in a timer', async () => {
    const thrown = once(process, 'uncaughtException')
    setTimeout(() => {
      throw new Error('of a timer')
    }, 1)
    await thrown
  })
  it('a test whose daemon leaves a rejection unhandled', async () => {
    await (await startHarmed('rejection')).suffer()
  })
  it('a test whose daemon crashes', async () => {
    await (await startHarmed('exception')).suffer()
  })
  it('a test whose daemon crashes while it is being ended', async () => {
    const harmed = await startHarmed('exception')
    harmed.expectEnd()
    await harmed.suffer()
  })
  it('a test whose daemon ends by itself, without an error', async () => {
    await (await startHarmed('end')).suffer()
  })
  it('a test whose daemon another process kills', async () => {
    const { child } = await startHarmed('end')
    process.kill(child.pid!, 'SIGKILL')
    while (!/^State:\s+Z/m.test(readFileSync(`/proc/${child.pid}/status`, 'utf8')));
  })
  it('a test whose identity service another process kills', async () => {
    const folder = await temporaryFolder()
    const identity = await startProgram('identity', {
      SELVEDGE_STATE: folder.path,
      SELVEDGE_IDENTITY_PORT: '0',
    })
    process.kill(identity.process.pid!, 'SIGKILL')
    await once(identity.process, 'exit')
    await folder.remove()
  })
})

describe('passes', () => {
  it('a test that stops its daemon', async () => {
    const folder = await temporaryFolder()
    const identity = await startProgram('identity', {
      SELVEDGE_STATE: folder.path,
      SELVEDGE_IDENTITY_PORT: '0',
    })
    await identity.stop()
    await folder.remove()
  })
  it('a test that says that its daemon will end', async () => {
    const harmed = await startHarmed('end')
    harmed.expectEnd()
    await harmed.suffer()
  })
  it('a test that says that its daemon will raise an alarm', async () => {
    const harmed = await startHarmed('exception')
    harmed.expectAlarm()
    harmed.expectEnd()
    await harmed.suffer()
  })
  it('a test after those that failed', () => expect(1).toBe(1))
})
