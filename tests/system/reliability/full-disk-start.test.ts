/** A first start on a full disk: the daemon says so and ends, and the next start with room on the disk repairs it; identity waits. */
import { execFileSync } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { freePorts, startProgram, temporaryFolder } from '../../harness/processes.ts'

/** Sizes of the disk at the first start, in KiB; from a few on, the daemon starts at once. */
const sizes = [4, 8, 12, 16, 20, 24, 28, 36, 48, 64, 96, 160, 288]

describe('on a full disk', needs('mounts'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  beforeEach(async () => {
    folder = await temporaryFolder()
  })
  afterEach(() => folder.remove())

  it.each(['runtime', 'discovery'] as const)(
    'the %s that could not finish its first start is repaired by the second',
    async (name) => {
      const env = {
        SELVEDGE_STATE: folder.path,
        ...freePorts,
        SELVEDGE_IDENTITY_URL: 'http://127.0.0.1:9',
        SELVEDGE_DISCOVERY_URL: 'http://127.0.0.1:9',
      }
      const failures: string[] = []
      for (const size of sizes) {
        execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}k,mode=0700`, 'tmpfs', folder.path])
        try {
          await startProgram(name, env).then(
            (started) => started.stop('SIGKILL'),
            (cause: Error) => failures.push(cause.message),
          )
          execFileSync('mount', ['-o', 'remount,size=16m', folder.path])
          const repaired = await startProgram(name, env)
          expect(repaired.url, `after a start on ${size} KiB`).toMatch(/^http/)
          await repaired.stop()
        } finally {
          execFileSync('umount', ['-l', folder.path])
        }
      }
      expect(failures.length).toBeGreaterThan(1)
      for (const each of failures)
        expect(each).toMatch(/did not start: .*(?:no space left|disk is full|disk I\/O)/i)
    },
  )

  it('the identity service waits, and starts by itself once there is room', async () => {
    const env = { SELVEDGE_STATE: folder.path, ...freePorts }
    for (const size of [4, 64, 288]) {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}k,mode=0700`, 'tmpfs', folder.path])
      try {
        let isReady = false
        const starting = startProgram('identity', env).then((started) => {
          isReady = true
          return started
        })
        await pause(4000)
        expect(isReady, `on ${size} KiB`).toBe(false)
        execFileSync('mount', ['-o', 'remount,size=16m', folder.path])
        const started = await starting
        expect(started.errors()).toMatch(/the disk is full; the start waits/)
        await started.stop()
      } finally {
        execFileSync('umount', ['-l', folder.path])
      }
    }
  })
})
