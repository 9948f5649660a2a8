import fs, { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import os, { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { systemName, systemVitals } from './system.ts'

/** Another device, until the test ends. */
function pretend({ freeBytes = 25, isDiskReadable = true, osRelease = 'PRETTY_NAME=Debian' }): void {
  vi.spyOn(os, 'arch').mockReturnValue('arm64')
  vi.spyOn(os, 'availableParallelism').mockReturnValue(4)
  vi.spyOn(os, 'uptime').mockReturnValue(59.6)
  vi.spyOn(os, 'loadavg').mockReturnValue([1.238, 9, 9])
  vi.spyOn(os, 'totalmem').mockReturnValue(100)
  vi.spyOn(os, 'freemem').mockReturnValue(freeBytes)
  vi.spyOn(fs, 'readFileSync').mockImplementation((path) => (path === '/etc/os-release' ? osRelease : ''))
  const disk = { blocks: 100, bfree: 40, bavail: 30, bsize: 4096 } as fs.StatsFs
  vi.spyOn(fs.promises, 'statfs').mockImplementation(async (folder) => {
    if (!isDiskReadable || folder !== '/state') throw new Error('EIO')
    return disk as never
  })
  syncBuiltinESMExports()
  onTestFinished(() => {
    vi.restoreAllMocks()
    syncBuiltinESMExports()
  })
}

it('states the device as its operating system reports it', async () => {
  pretend({})
  expect(await systemVitals('/state')).toEqual({
    system: 'Debian',
    arch: 'arm64',
    uptimeSeconds: 60,
    cores: 4,
    load: 1.24,
    memory: { usedBytes: 75, totalBytes: 100 },
    disk: { usedBytes: 60 * 4096, totalBytes: 90 * 4096 },
  })
})

it('states no name, no disk and no negative number', async () => {
  pretend({ osRelease: '', isDiskReadable: false, freeBytes: 200 })
  const stated = await systemVitals('/state')
  expect(stated).not.toHaveProperty('system')
  expect(stated).toMatchObject({ disk: null, memory: { usedBytes: 0, totalBytes: 100 } })
})

it('has no name of a system without a file', () => {
  expect(systemName('/nowhere/os-release')).toBe('')
})

it.each([
  ['PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"', 'Debian GNU/Linux 12 (bookworm)'],
  ["ID=x\nPRETTY_NAME='Alpine Linux v3.20'\n", 'Alpine Linux v3.20'],
  ['PRETTY_NAME=Arch', 'Arch'],
  [`PRETTY_NAME="${'x'.repeat(200)}\u001b[2J"`, 'x'.repeat(80)],
  [`PRETTY_NAME="${'x'.repeat(79)}🐧"`, 'x'.repeat(79)],
  [`PRETTY_NAME="${'x'.repeat(78)}🐧y"`, `${'x'.repeat(78)}🐧`],
  ['PRETTY_NAME="Void " # rolling', '"Void " # rolling'],
  ['PRETTY_NAME=" padded "', 'padded'],
  ['OLD_PRETTY_NAME=x\nNAME=none', ''],
])('reads the name of the system: %j', (content, name) => {
  const folder = mkdtempSync(join(tmpdir(), 'system-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'os-release'), content)
  expect(systemName(join(folder, 'os-release'))).toBe(name)
})
