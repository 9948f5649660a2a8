/** `selvedge upgrade` and the launcher together: what runs after each step, and what a hostile archive can do (nothing). */
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { temporaryFolder } from '../../harness/processes.ts'
import {
  confirm,
  launcher,
  makeInstallation,
  type Packed,
  packRelease,
  releaseKey,
  runUpgrade,
  sha256Of,
  signRelease,
  start,
} from './installation.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let prefix: string
beforeEach(async () => {
  folder = await temporaryFolder()
  prefix = makeInstallation(folder.path, '1.0.0')
})
afterEach(() => folder.remove())

/** Each in a folder of its own. */
function pack(version: string, key = releaseKey): Packed {
  const own = join(folder.path, `packed-${version}-${readdirSync(folder.path).length}`)
  mkdirSync(own)
  return packRelease(own, version, { key })
}
const upgradeTo = (version: string, ...args: string[]) => runUpgrade(prefix, pack(version).archive, ...args)
const linked = (name: string) =>
  lstatSync(join(prefix, name), { throwIfNoEntry: false }) && basename(readlinkSync(join(prefix, name)))

describe('an upgrade', () => {
  it('runs from the next start on, and stays once it has confirmed itself', () => {
    expect(upgradeTo('1.1.0')).toMatchObject({
      status: 0,
      result: { current: '1.1.0', previous: '1.0.0', phase: 'untried', restart: 'needed' },
    })
    expect(start(prefix)).toBe('1.1.0')
    expect(runUpgrade(prefix, '--status').result).toMatchObject({ phase: 'trial' })
    confirm(prefix, '1.1.0')
    expect(runUpgrade(prefix, '--status').result).toMatchObject({ phase: 'confirmed' })
    for (let starts = 0; starts < 3; starts++) expect(start(prefix)).toBe('1.1.0')
    expect([linked('trial'), linked('failed')]).toEqual([undefined, undefined])
  })

  it('that does not confirm itself is replaced by the one before, permanently', () => {
    upgradeTo('1.1.0')
    expect([start(prefix), start(prefix), start(prefix)]).toEqual(['1.1.0', '1.0.0', '1.0.0'])
    expect(runUpgrade(prefix, '--status').result).toMatchObject({
      current: '1.0.0',
      failed: '1.1.0',
      phase: 'confirmed',
    })
  })

  it('is not confirmed by what confirmed the same version before', () => {
    confirm(prefix, '1.1.0')
    upgradeTo('1.1.0')
    expect([start(prefix), start(prefix)]).toEqual(['1.1.0', '1.0.0'])
  })

  it('can be tried again after it failed', () => {
    upgradeTo('1.1.0')
    start(prefix)
    start(prefix)
    expect(upgradeTo('1.1.0').status).toBe(0)
    expect(start(prefix)).toBe('1.1.0')
    confirm(prefix, '1.1.0')
    expect(start(prefix)).toBe('1.1.0')
  })

  it('keeps two releases, and removes older ones and what was interrupted', () => {
    mkdirSync(join(prefix, 'releases/.upgrade-left'))
    for (const version of ['1.1.0', '1.2.0', '1.3.0']) {
      expect(upgradeTo(version).status).toBe(0)
      start(prefix)
      confirm(prefix, version)
    }
    expect(readdirSync(join(prefix, 'releases')).sort()).toEqual(['1.1.0', '1.2.0', '1.3.0'])
    upgradeTo('1.4.0')
    expect(readdirSync(join(prefix, 'releases')).sort()).toEqual(['1.2.0', '1.3.0', '1.4.0'])
  })

  it('can be left and entered again by hand', () => {
    upgradeTo('1.1.0')
    start(prefix)
    confirm(prefix, '1.1.0')
    expect(runUpgrade(prefix, '--rollback').result).toMatchObject({ current: '1.0.0', previous: '1.1.0' })
    expect(start(prefix)).toBe('1.0.0')
    expect(runUpgrade(prefix, '--rollback').result).toMatchObject({ current: '1.1.0' })
    expect([start(prefix), start(prefix)]).toEqual(['1.1.0', '1.1.0'])
  })

  it('can be read by the user of the service, whatever the umask of root is', () => {
    const { archive } = pack('1.1.0')
    const before = process.umask(0o077)
    try {
      expect(runUpgrade(prefix, archive).status).toBe(0)
    } finally {
      process.umask(before)
    }
    for (const each of ['releases/1.1.0', 'releases/1.1.0/bin', 'releases/1.1.0/bin/selvedge-runtime'])
      expect((statSync(join(prefix, each)).mode & 0o777).toString(8), each).toBe('755')
    expect((statSync(join(prefix, 'releases/1.1.0/VERSION')).mode & 0o777).toString(8)).toBe('644')
  })

  it('starts the previous release if the current one was removed', () => {
    upgradeTo('1.1.0')
    rmSync(join(prefix, 'releases/1.1.0'), { recursive: true })
    expect(start(prefix)).toBe('1.0.0')
  })
})

describe('an upgrade is refused, and nothing changes,', () => {
  const unchanged = () => {
    expect([linked('current'), linked('untried'), linked('previous')]).toEqual([
      '1.0.0',
      undefined,
      undefined,
    ])
    expect(readdirSync(join(prefix, 'releases'))).toEqual(['1.0.0'])
    expect(start(prefix)).toBe('1.0.0')
  }

  it('if another key signed it', () => {
    const { archive } = pack('1.1.0', generateKeyPairSync('ed25519').privateKey)
    expect(runUpgrade(prefix, archive)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/not signed by a release key/),
    })
    unchanged()
  })

  it('if the archive is not the signed one', () => {
    const { archive } = pack('1.1.0')
    appendFileSync(archive, 'x')
    expect(runUpgrade(prefix, archive)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/the release was signed with/),
    })
    unchanged()
  })

  it('if the archive is cut off, or changes while it is read', () => {
    const { archive } = pack('1.1.0')
    writeFileSync(archive, readFileSync(archive).subarray(0, 50))
    expect(runUpgrade(prefix, archive).status).toBe(1)
    unchanged()
  })

  it('if the signed list is not there, or is of another release', () => {
    const { archive, releaseFile } = pack('1.1.0')
    rmSync(releaseFile)
    expect(runUpgrade(prefix, archive)).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/--release-file/),
    })
    const other = pack('1.2.0')
    expect(runUpgrade(prefix, archive, '--release-file', other.releaseFile)).toMatchObject({ status: 1 })
    expect(runUpgrade(prefix, archive, '--release-file', '/dev/zero').status).toBe(1)
    unchanged()
  })

  it('if it is older, unless that is wanted', () => {
    expect(upgradeTo('0.9.0')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/older than 1\.0\.0.*--allow-downgrade/s),
    })
    expect(upgradeTo('1.0.0-rc.1').status).toBe(2)
    unchanged()
    expect(upgradeTo('0.9.0', '--allow-downgrade').status).toBe(0)
    expect(start(prefix)).toBe('0.9.0')
  })

  it('if it is the installed or the previous one', () => {
    expect(upgradeTo('1.0.0')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/is installed already/),
    })
    unchanged()
    upgradeTo('1.1.0')
    start(prefix)
    confirm(prefix, '1.1.0')
    expect(upgradeTo('1.0.0', '--allow-downgrade')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/--rollback/),
    })
  })

  it('while the last one has not confirmed itself', () => {
    upgradeTo('1.1.0')
    expect(upgradeTo('1.2.0')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/has not confirmed itself/),
    })
    start(prefix)
    expect(upgradeTo('1.2.0').status).toBe(2)
    expect(start(prefix)).toBe('1.0.0')
  })

  it('if it has no archive for this device', () => {
    const { archive, releaseFile } = pack('1.1.0')
    const other = archive.replace(/[^-]+\.tar\.gz$/, 'riscv64.tar.gz')
    renameSync(archive, other)
    signRelease(releaseFile, '1.1.0', new Map([[basename(other), sha256Of(other)]]), releaseKey)
    expect(runUpgrade(prefix, other)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/has no selvedge-1\.1\.0-linux/),
    })
    unchanged()
  })

  it('while another one is under way; one that was killed does not lock', () => {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const stat = readFileSync('/proc/self/stat', 'utf8')
    const startTime = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    const lock = join(prefix, `upgrade.lock.${process.pid}`)
    symlinkSync(`${boot}:${startTime}`, lock)
    expect(upgradeTo('1.1.0')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/is changing this installation/),
    })
    unchanged()
    rmSync(lock)
    symlinkSync(`${boot}:${startTime}`, join(prefix, 'upgrade.lock.4194304'))
    expect(upgradeTo('1.1.0').status).toBe(0)
    expect(readdirSync(prefix).filter((name) => name.startsWith('upgrade.lock'))).toEqual([])
  })

  it('of an installation that has no keys, or is not of this kind', () => {
    writeFileSync(join(prefix, 'releases/1.0.0/release-keys.json'), '{"threshold": 1, "keys": []}')
    expect(upgradeTo('1.1.0')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/has no release keys/),
    })
    unchanged()
    expect(runUpgrade(folder.path, '--status')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/has no releases/),
    })
    expect(runUpgrade(prefix)).toMatchObject({ status: 2, stderr: expect.stringMatching(/name an archive/) })
  })

  it('on a disk that is full, at whatever step', needs('mounts'), () => {
    const small = join(folder.path, 'small')
    mkdirSync(small)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=300k,nr_inodes=60', 'tmpfs', small])
    try {
      prefix = makeInstallation(small, '1.0.0')
      const { archive } = pack('1.1.0')
      let failures = 0
      // From no free inode to enough of them: each step of the upgrade fails once.
      for (let filled = 60; filled >= 0; filled--) {
        for (let at = 0; at < filled; at++) {
          try {
            writeFileSync(join(small, `fill-${at}`), '')
          } catch {
            break
          }
        }
        const { status } = runUpgrade(prefix, archive)
        const version = start(prefix)
        if (status !== 0) {
          failures++
          expect(version).toBe('1.0.0')
        } else expect(version).toBe('1.1.0')
        for (const name of readdirSync(small)) if (name.startsWith('fill')) rmSync(join(small, name))
        if (status === 0) break
      }
      expect(failures).toBeGreaterThan(5)
      // The way back needs no room.
      for (let at = 0; ; at++) {
        try {
          writeFileSync(join(small, `fill-${at}`), 'x'.repeat(4096))
        } catch {
          break
        }
      }
      expect([start(prefix), start(prefix)]).toEqual(['1.0.0', '1.0.0'])
    } finally {
      execFileSync('umount', [small])
    }
  })
})

it('the launcher starts the release in a state folder that is hostile', () => {
  upgradeTo('1.1.0')
  start(prefix)
  const path = join(folder.path, 'state/confirmed-release')
  execFileSync('mkfifo', [path])
  expect(start(prefix)).toBe('1.0.0')
  rmSync(path)
  upgradeTo('1.1.0')
  symlinkSync('/etc/shadow', path)
  expect([start(prefix), lstatSync(path, { throwIfNoEntry: false })]).toEqual(['1.1.0', undefined])
  expect(existsSync('/etc/shadow')).toBe(true)
  mkdirSync(path)
  expect(start(prefix)).toBe('1.0.0')
})

it('the launcher is a POSIX shell script', () => {
  expect(() => execFileSync('sh', ['-n', launcher])).not.toThrow()
})
