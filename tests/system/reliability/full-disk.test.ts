/** An identity service whose disk fills up: it serves what needs no writing, and gives no token whose record it could not store. */
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { watch } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { startStack, temporaryFolder } from '../../harness/processes.ts'
import { onlyReads, seenStore } from '../../harness/seen-store.ts'
import { identitySubject } from './subjects/identity.ts'

const megabyte = 1024 * 1024

/** Resolves when a start has tried this often for room in a folder: it makes a file, and removes it. */
async function attemptsAt(folder: string, count: number): Promise<void> {
  let seen = 0
  for await (const { eventType, filename } of watch(folder))
    if (filename === 'room-for-start' && eventType === 'rename' && ++seen === 2 * count) return
}

it('identity on a full disk issues nothing that it could not store, waits with its start, and goes on with room', {
  ...needs('mounts'),
}, async () => {
  const folder = await temporaryFolder()
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=0700', 'tmpfs', folder.path])
  const filler = join(folder.path, 'filler')
  const fill = () => {
    try {
      writeFileSync(filler, Buffer.alloc(16 * megabyte))
    } catch {
      // Full, as it should be.
    }
  }
  const empty = () => rmSync(filler, { force: true })
  const env = { SELVEDGE_STATE: folder.path }
  const sockets = await temporaryFolder()
  const socket = join(sockets.path, 'identity')
  const stack = await startStack({ env, identity: [`--metrics.listen=${socket}`] })
  const seen = () => seenStore(stack.identity.url, socket)
  const subject = await identitySubject(stack, env)
  const refusals = async () =>
    (await subject.work(0)).map(({ what, refused }) => `${what}: ${refused ?? 'done'}`)
  try {
    await subject.work(0)
    const done = ['an account: done', 'a project: done', 'a developer token: done', 'an exchange: done']
    fill()
    expect(await refusals()).toEqual([
      'an account: storage_full',
      'a project: storage_full',
      'a developer token: storage_full',
      // An access token that nothing is stored of.
      'an exchange: done',
    ])
    await expect.poll(seen).toEqual(onlyReads)
    let isReady = false
    const attempts = attemptsAt(join(folder.path, 'identity'), 2)
    const restarted = subject.restart().then(() => {
      isReady = true
    })
    // It tries for room twice: it waits, and does not end.
    await attempts
    expect(isReady).toBe(false)
    empty()
    await restarted
    expect(await refusals()).toEqual(expect.arrayContaining(done))
    expect(await subject.missing()).toEqual([])
  } finally {
    await subject.stop()
    await stack.stop()
    execFileSync('umount', ['-l', folder.path])
    await folder.remove()
    await sockets.remove()
  }
})
