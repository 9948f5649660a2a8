/** A disk that gets full while a store is backed up or restored: the present store stays as it is, and the service starts with it. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { expectNoUnfinishedRestore, swapIn } from '../../../packages/service-kit/src/backup/swap.ts'
import { runCli } from '../../harness/cli.ts'
import { adminOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { freePorts, startProgram, temporaryFolder } from '../../harness/processes.ts'

const blockBytes = 4096
const isAboutDisk = /no space left|disk is full|disk I\/O/i

/** Names and content of the files of a folder, without empty ones (a lock, a log) and the index of a log. */
const contentOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => statSync(join(folder, name)).size > 0 && !name.endsWith('-shm'))
      .map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex'),
      ]),
  )

describe('a disk that gets full', needs('mounts'), () => {
  let files: Awaited<ReturnType<typeof temporaryFolder>>
  let state: string
  const email = 'one@example.com'
  const store = (...args: string[]) =>
    runCli(['admin', 'store', ...args, '--json'], { PATH: process.env.PATH ?? '', SELVEDGE_STATE: state })
  const startIdentity = () => startProgram('identity', { SELVEDGE_STATE: state, ...freePorts })
  const resize = (size: number) => execFileSync('mount', ['-o', `remount,size=${size}`, state])
  /** Leaves this many blocks of the disk free. */
  const leave = (blocks: number) => {
    const found = statfsSync(state)
    resize((found.blocks - found.bfree + blocks) * found.bsize)
  }
  beforeEach(async () => {
    files = await temporaryFolder()
    state = join(files.path, 'state')
    mkdirSync(state)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m,mode=0700', 'tmpfs', state])
    const identity = await startIdentity()
    await adminOf(state)['account.create']({ email })
    await identity.stop()
  })
  afterEach(async () => {
    execFileSync('umount', ['-l', state])
    await files.remove()
  })

  /** Repeats a command with more and more room until it succeeds. @returns the failures before */
  async function untilItFits(run: () => ReturnType<typeof store>): Promise<number> {
    const before = contentOf(join(state, 'identity'))
    for (let blocks = 0, failures = 0; ; blocks += blocks < 8 ? 1 : 24, failures++) {
      leave(blocks)
      const { code, errors } = await run()
      if (code === 0) return failures
      expect(errors, `with ${blocks} blocks of ${blockBytes} bytes`).toMatch(isAboutDisk)
      expect(contentOf(join(state, 'identity')), `with ${blocks} free blocks`).toEqual(before)
    }
  }

  it('fails a restore and changes nothing, or completes it', async () => {
    const file = join(files.path, 'backup')
    expect((await store('backup', file)).errors).toBe('')
    expect(await untilItFits(() => store('restore', file))).toBeGreaterThan(8)
    resize(64 << 20)
    const identity = await startIdentity()
    expect((await adminOf(state)['account.list']()).map((each) => each.email)).toContain(email)
    await identity.stop()
  })

  it('that has no room for the note of a restore leaves the present store in place', () => {
    const folder = join(state, 'identity')
    const before = contentOf(folder)
    const draft = join(folder, 'identity.db.restored')
    writeFileSync(draft, 'restored')
    leave(0)
    const replacement = { draft, path: join(folder, 'identity.db') }
    expect(() => swapIn(folder, [replacement], '.before')).toThrow(isAboutDisk)
    expect(() => expectNoUnfinishedRestore(folder)).not.toThrow()
    rmSync(draft)
    expect(contentOf(folder)).toEqual(before)
  })

  it('fails a backup, leaves no file, and the next one is complete', async () => {
    const folder = join(state, 'backups')
    mkdirSync(folder)
    const file = join(folder, 'backup')
    const failures = await untilItFits(() => {
      expect(readdirSync(folder)).toEqual([])
      return store('backup', file)
    })
    expect(failures).toBeGreaterThan(8)
    resize(64 << 20)
    expect((await store('restore', file)).errors).toBe('')
  })
})
