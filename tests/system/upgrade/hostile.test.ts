/** What reaches `selvedge upgrade` and the launcher from others: files in folders of other users, starts at any moment, odd installations. */
import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  readdirSync,
  renameSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { confirmationFolder } from '../../../apps/runtime/src/confirm-release.ts'
import { checksumsOf } from '../../../packaging/checksums.ts'
import { writeSbom } from '../../../packaging/sbom.ts'
import { needs } from '../../harness/installed.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'
import {
  type Contents,
  confirm,
  makeInstallation,
  packRelease,
  releaseKey,
  releaseKeys,
  runUpgrade,
  start,
} from './installation.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let prefix: string
beforeEach(async () => {
  folder = await temporaryFolder()
  prefix = makeInstallation(folder.path, '1.0.0')
})
afterEach(() => folder.remove())

function pack(version: string) {
  const own = join(folder.path, `packed-${version}-${readdirSync(folder.path).length}`)
  mkdirSync(own)
  return packRelease(own, version)
}
const upgradeTo = (version: string, ...args: string[]) => runUpgrade(prefix, pack(version).archive, ...args)

it('accepts what "npm run package" laid out and "npm run release:sign" signed', () => {
  const { archive } = pack('1.1.0')
  const dist = join(folder.path, 'dist')
  mkdirSync(join(dist, 'tar'), { recursive: true })
  const released = join(dist, 'tar', basename(archive))
  renameSync(archive, released)
  const maintainer = { name: 'Jane Doe', email: 'jane@devices.selvedge' }
  const sbom = writeSbom({ version: '1.1.0', epochSeconds: 1_700_000_000, maintainer })
  writeFileSync(join(dist, 'selvedge-1.1.0.cdx.json'), sbom)
  writeFileSync(join(dist, 'SHA256SUMS'), checksumsOf(dist))
  const key = join(folder.path, 'key.pem')
  writeFileSync(key, releaseKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  execFileSync(process.execPath, ['--conditions=source', 'packaging/sign.ts', '--key', key, dist], {
    cwd: root,
  })
  const releaseFile = join(dist, 'selvedge-1.1.0.release.json')
  expect(runUpgrade(prefix, released, '--release-file', releaseFile)).toMatchObject({ status: 0 })
})

describe('a rollback', () => {
  it('from a release that never confirmed itself does not lead back to it', () => {
    upgradeTo('1.1.0')
    start(prefix)
    expect(runUpgrade(prefix, '--rollback').status).toBe(0)
    expect(start(prefix)).toBe('1.0.0')
    expect(runUpgrade(prefix, '--rollback').status).toBe(2)
    expect(start(prefix)).toBe('1.0.0')
  })
})

describe('the launcher and the runtime agree where a release confirms itself', () => {
  it.each([
    [
      'the state folder of systemd, and not that of the settings',
      { STATE_DIRECTORY: 'one', SELVEDGE_STATE: 'two' },
    ],
    ['the first of several state folders', { STATE_DIRECTORY: 'one:two' }],
    ['without systemd, the state folder of the environment', { SELVEDGE_STATE: 'one' }],
  ])('%s', (_, names) => {
    const env = Object.fromEntries(
      Object.entries(names).map(([name, value]) => [
        name,
        value
          .split(':')
          .map((each) => join(folder.path, each))
          .join(':'),
      ]),
    )
    for (const name of ['one', 'two']) mkdirSync(join(folder.path, name))
    const launch = () =>
      execFileSync(join(prefix, 'choose-release'), ['selvedge-runtime'], {
        encoding: 'utf8',
        env: { PATH: process.env.PATH, ...env },
      }).trim()
    upgradeTo('1.1.0')
    expect(launch()).toBe('1.1.0')
    writeFileSync(join(confirmationFolder(env, '/nonexistent'), 'confirmed-release'), '1.1.0')
    expect([launch(), launch()]).toEqual(['1.1.0', '1.1.0'])
  })
})

describe('a signed release is refused', () => {
  const pack = (contents: Contents) => {
    const own = join(folder.path, 'packed')
    mkdirSync(own)
    return packRelease(own, '1.1.0', contents).archive
  }
  it.each([
    ['without keys for the next one', { keys: '{"threshold": 1, "keys": []}' }, /no later release/],
    [
      'with keys that have expired',
      { keys: releaseKeys.replace('2100', '2001') },
      /0 valid release keys and needs 1/,
    ],
    [
      'with a time after which its keys have expired',
      { fill: (path: string) => utimesSync(join(path, 'VERSION'), 5_000_000_000, 5_000_000_000) },
      /0 valid release keys and needs 1/,
    ],
    [
      'with the content of another version',
      { fill: (path: string) => writeFileSync(join(path, 'VERSION'), '1.0.9') },
      /has the version "1\.0\.9"/,
    ],
  ])('%s', (_, contents, message) => {
    expect(runUpgrade(prefix, pack(contents))).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(message),
    })
    expect(readdirSync(join(prefix, 'releases'))).toEqual(['1.0.0'])
    expect(start(prefix)).toBe('1.0.0')
  })
})

it('a folder in place of the confirmation does not end the trial of every release', () => {
  mkdirSync(join(folder.path, 'state/confirmed-release/below'), { recursive: true })
  upgradeTo('1.1.0')
  start(prefix)
  confirm(prefix, '1.1.0')
  expect(start(prefix)).toBe('1.1.0')
})

describe('the archive', () => {
  it('that is not the signed one needs no space, not even for a moment', needs('mounts'), () => {
    const small = join(folder.path, 'small')
    mkdirSync(small)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=300k', 'tmpfs', small])
    try {
      const own = makeInstallation(small, '1.0.0')
      const { archive } = pack('1.1.0')
      truncateSync(archive, 100_000_000)
      expect(runUpgrade(own, archive)).toMatchObject({
        status: 1,
        stderr: expect.stringMatching(/the release was signed with/),
      })
    } finally {
      execFileSync('umount', [small])
    }
  })

  it('is not read if it is a pipe, and neither is the signed list', () => {
    const { archive, releaseFile } = pack('1.1.0')
    const pipe = join(folder.path, basename(archive))
    execFileSync('mkfifo', [pipe])
    const refused = { status: 1, stderr: expect.stringMatching(/is not a regular file/) }
    expect(runUpgrade(prefix, pipe, '--release-file', releaseFile)).toMatchObject(refused)
    expect(runUpgrade(prefix, archive, '--release-file', pipe)).toMatchObject(refused)
  })
})

it('a version that two spellings have is no version', () => {
  for (const version of ['1.1.0-01', '1.1.0-rc.01']) expect(upgradeTo(version).status).toBe(1)
})

it('a release with the longest version can confirm itself', () => {
  const version = `999999.999999.999999-${'a'.repeat(16)}.${'b'.repeat(16)}.${'c'.repeat(9)}`
  expect(upgradeTo(`${version}c`).status).toBe(1)
  expect(upgradeTo(version).status).toBe(0)
  start(prefix)
  confirm(prefix, version)
  expect(start(prefix)).toBe(version)
})

it('a service that starts between two steps of an upgrade does not take the trial away', () => {
  upgradeTo('1.1.0')
  // What is there before the last step.
  symlinkSync('releases/1.0.0', join(prefix, 'installed'))
  renameSync(join(prefix, 'installed'), join(prefix, 'current'))
  expect(start(prefix)).toBe('1.0.0')
  symlinkSync('releases/1.1.0', join(prefix, 'last-step'))
  renameSync(join(prefix, 'last-step'), join(prefix, 'current'))
  expect([start(prefix), start(prefix)]).toEqual(['1.1.0', '1.0.0'])
})
