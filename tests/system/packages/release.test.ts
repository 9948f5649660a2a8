/** `npm run package` as a whole: the same bytes wherever it runs, checksums, a bill of materials, one version, no key. */
import { execFileSync, spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readReleaseKeys } from '../../../apps/cli/src/release/keys.ts'
import { verifyRelease } from '../../../apps/cli/src/release/verify.ts'
import { checksumsOf } from '../../../packaging/checksums.ts'
import { readMaintainer } from '../../../packaging/maintainer.ts'
import { withoutRepositoryLinks } from '../../../packaging/npm/readme.ts'
import { needs } from '../../harness/installed.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
const { version } = readJson(join(root, 'package.json'))

describe('a release', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let first: string
  let second: string

  /** @param checkout folder of the project; it is built there */
  function makeRelease(checkout: string, target: string): void {
    const options = {
      cwd: checkout,
      stdio: 'pipe',
      env: { PATH: process.env.PATH, SOURCE_DATE_EPOCH: '1700000000' },
    } as const
    for (const script of ['libraries', 'bundle'])
      execFileSync(process.execPath, [`scripts/${script}.mjs`], options)
    execFileSync(process.execPath, ['--conditions=source', 'packaging/run.ts', target, '--fast'], options)
  }

  /** What git has of the checkout, at another path, with the same dependencies. */
  function copyCheckout(target: string): void {
    mkdirSync(target)
    const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
    const files = execFileSync('git', list, { cwd: root, maxBuffer: 1e8 })
    execFileSync(
      'tar',
      ['c', '--null', '--files-from=-', '--ignore-failed-read', '--file', `${target}.tar`],
      { cwd: root, input: files, stdio: ['pipe', 'ignore', 'ignore'] },
    )
    execFileSync('tar', ['xf', `${target}.tar`], { cwd: target })
    // By hard links where both are on one disk: nothing of them is changed in place.
    for (const each of ['node_modules', 'apps/cli/node_modules'])
      if (spawnSync('cp', ['-al', join(root, each), join(target, each)]).status !== 0) {
        rmSync(join(target, each), { recursive: true, force: true })
        execFileSync('cp', ['-a', '--reflink=auto', join(root, each), join(target, each)])
      }
    // The build writes it in place, and would write that of this checkout.
    rmSync(join(target, 'node_modules/.selvedge-libraries'), { force: true })
  }

  beforeAll(async () => {
    folder = await temporaryFolder()
    first = join(folder.path, 'first')
    second = join(folder.path, 'second')
    copyCheckout(join(folder.path, 'elsewhere'))
    makeRelease(root, first)
    makeRelease(join(folder.path, 'elsewhere'), second)
  }, 600_000)
  afterAll(() => folder.remove())

  it('has the same bytes from another checkout of the same commit', () => {
    expect(readFileSync(join(second, 'SHA256SUMS'), 'utf8')).toBe(
      readFileSync(join(first, 'SHA256SUMS'), 'utf8'),
    )
  })

  it('has checksums of all its files that sha256sum confirms', () => {
    const out = execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: first, encoding: 'utf8' })
    const files = readdirSync(first, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
    expect(out.trim().split('\n')).toHaveLength(files.length - 1)
  })

  it('lists every dependency with its version and licence in a bill of materials', () => {
    const sbom = readJson(join(first, `selvedge-${version}.cdx.json`))
    expect(sbom).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { timestamp: '2023-11-14T22:13:20.000Z' },
    })
    const listed = new Set(sbom.components.map((each: { name: string }) => each.name))
    for (const name of [
      'selvedge',
      '@selvedge/client',
      'zod',
      'fastify',
      'pg',
      'preact',
      'maplibre-gl',
      'world-atlas',
      'Inter',
      'Lucide',
      'Natural Earth',
      `node-linux-${process.arch}`,
    ])
      expect(listed).toContain(name)
    expect(listed).not.toContain('vitest')
    const unlicensed = sbom.components.filter((each: { licenses?: unknown[] }) => !each.licenses?.length)
    expect(unlicensed.map((each: { name: string }) => each.name)).toEqual([])
  })

  it('has a bill of materials that is valid CycloneDX', needs('package tools'), async () => {
    const require = createRequire(join(root, 'tests/system/packages/tools/package.json'))
    const { Spec, Validation } = require('@cyclonedx/cyclonedx-library')
    const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6)
    const text = readFileSync(join(first, `selvedge-${version}.cdx.json`), 'utf8')
    expect(await validator.validate(text)).toBeNull()
  })

  it('contains no private key', () => {
    const marks = ['-----BEGIN PRIVATE', '-----BEGIN EC PRIVATE', '-----BEGIN RSA PRIVATE', '"d":"']
    for (const name of readdirSync(join(first, 'npm'))) {
      const text = execFileSync('tar', ['xzOf', join(first, 'npm', name)], {
        encoding: 'latin1',
        maxBuffer: 1e8,
      })
      expect(marks.filter((mark) => text.includes(mark))).toEqual([])
    }
  })
})

describe('a release that is signed', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let dist: string
  const keyFile = (name: string) => {
    const path = join(folder.path, name)
    const { privateKey } = generateKeyPairSync('ed25519')
    writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
    return path
  }
  const signWith = (...args: string[]) =>
    spawnSync(process.execPath, ['--conditions=source', 'packaging/sign.ts', ...args], {
      cwd: root,
      encoding: 'utf8',
    })
  const released = () => readFileSync(join(dist, 'selvedge-1.2.3.release.json'), 'utf8')
  const sbomBy = (email: string) => {
    const component = { version: '1.2.3' }
    const authors = [{ name: 'Jane Doe', email }]
    return JSON.stringify({ metadata: { timestamp: '2023-11-14T22:13:20.000Z', authors, component } })
  }

  /** An archive for devices that has these keys for the next release, and the checksums of the folder. */
  function makeArchive(target: string, keys: readonly object[]): void {
    const content = join(folder.path, 'selvedge-1.2.3-linux-amd64')
    mkdirSync(content, { recursive: true })
    writeFileSync(join(content, 'release-keys.json'), JSON.stringify({ threshold: 1, keys }))
    const archive = join(target, 'selvedge-1.2.3-linux-amd64.tar.gz')
    execFileSync('tar', ['czf', archive, '-C', folder.path, basename(content)])
    writeFileSync(join(target, 'SHA256SUMS'), checksumsOf(target))
  }

  beforeAll(async () => {
    folder = await temporaryFolder()
    dist = join(folder.path, 'dist')
    mkdirSync(dist)
    writeFileSync(join(dist, 'selvedge-1.2.3.cdx.json'), sbomBy('releases@selvedge.dev'))
    const publicKey = Buffer.alloc(32, 1).toString('base64')
    makeArchive(dist, [{ publicKey, expires: '2030-01-31' }])
  })
  afterAll(() => folder.remove())

  it('is believed by who has the keys, once as many as needed have signed', () => {
    const [first, second] = [keyFile('first.pem'), keyFile('second.pem')]
    const keys = [first, second].map((path) => JSON.parse(signWith('--key', path, '--public').stdout))
    const trusted = readReleaseKeys(JSON.stringify({ threshold: 2, keys }))
    const now = Date.now() / 1000
    expect(signWith('--key', first, dist).stdout).toContain('2 files of version 1.2.3, 1 signatures')
    expect(signWith('--key', first, dist).stdout).toContain('1 signatures')
    expect(() => verifyRelease(released(), trusted, now)).toThrow('1 of 2 signatures')
    expect(signWith('--key', second, dist).stdout).toContain('2 signatures')
    const { version, epochSeconds, files } = verifyRelease(released(), trusted, now)
    expect({ version, epochSeconds }).toEqual({ version: '1.2.3', epochSeconds: 1_700_000_000 })
    expect([...files.keys()]).toEqual(['selvedge-1.2.3-linux-amd64.tar.gz', 'selvedge-1.2.3.cdx.json'])
  })

  it('is not signed with a key that others can read, or after a file was changed', () => {
    const key = keyFile('third.pem')
    chmodSync(key, 0o640)
    expect(signWith('--key', key, dist)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^error: other users can read .*chmod 600/),
    })
    chmodSync(key, 0o600)
    const before = released()
    writeFileSync(join(dist, 'selvedge-1.2.3-linux-amd64.tar.gz'), 'archive 2')
    expect(signWith('--key', key, dist)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('are not those of its SHA256SUMS'),
    })
    expect(released()).toBe(before)
  })

  it.each(['maintainers@selvedge.example', 'jane@example.com', 'root@localhost'])(
    'is not signed while its packages name %s as their maintainer',
    async (email) => {
      const unsigned = await temporaryFolder()
      writeFileSync(join(unsigned.path, 'selvedge-1.2.3.cdx.json'), sbomBy(email))
      writeFileSync(join(unsigned.path, 'SHA256SUMS'), checksumsOf(unsigned.path))
      expect(signWith('--key', keyFile(`${email}.pem`), unsigned.path)).toMatchObject({
        status: 1,
        stderr: expect.stringContaining(`name ${email} as their maintainer`),
      })
      expect(readdirSync(unsigned.path)).not.toContain('selvedge-1.2.3.release.json')
      await unsigned.remove()
    },
  )

  it('is not signed while devices with it could install no later one', async () => {
    const unsigned = await temporaryFolder()
    writeFileSync(join(unsigned.path, 'selvedge-1.2.3.cdx.json'), sbomBy('releases@selvedge.dev'))
    makeArchive(unsigned.path, [])
    expect(signWith('--key', keyFile('fourth.pem'), unsigned.path)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('selvedge-1.2.3-linux-amd64.tar.gz has no keys'),
    })
    await unsigned.remove()
  })
})

it('the maintainer of the packages is a name and an address on one line', () => {
  const jane = { name: 'Jane Doe', email: 'jane@example.com' }
  expect(readMaintainer('Jane Doe <jane@example.com>')).toEqual(jane)
  for (const wrong of [
    undefined,
    'Jane',
    'jane@example.com',
    'Jane <jane>',
    'Jane\nDepends: x <a@b.c>',
    'J <a@b.c>\nX: y',
  ])
    expect(() => readMaintainer(wrong)).toThrow('such as "Jane Doe <jane@example.com>"')
})

it('every package has the version of the project', () => {
  const manifests = execFileSync('git', ['ls-files', '*package.json'], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n')
    .filter((path) => /^(package|(packages|apps)\/[^/]+\/package)\.json$/.test(path))
    .map((path) => [path, readJson(join(root, path))] as const)
  const others = manifests.flatMap(([path, { version: own, dependencies = {} }]) => [
    ...(own === version ? [] : [`${path}: ${own}`]),
    ...Object.entries<string>(dependencies)
      .filter(([name, wanted]) => name.startsWith('@selvedge/') && wanted !== version)
      .map(([name, wanted]) => `${path}: ${name} ${wanted}`),
  ])
  expect(others).toEqual([])
  expect(readFileSync(join(root, 'packages/protocol/src/index.ts'), 'utf8')).toContain(
    `version = '${version}'`,
  )
})

it.each([
  ['a [file](../docs/a.md) of the repository', 'a file of the repository'],
  [
    'a [site](https://example.com/a) and a [heading](#use)',
    'a [site](https://example.com/a) and a [heading](#use)',
  ],
  ['[one](a.md), [two](b.md#c)', 'one, two'],
])('a README leaves without links into the repository: %s', (text, expected) => {
  expect(withoutRepositoryLinks(text)).toBe(expected)
})
