/**
 * What apt does with the packages, by the dpkg of this machine: the whole machine is below an overlay, in which the packages are installed,
 * upgraded, removed and purged. systemd does not run there; `npm run installed` shows the services.
 */
import { spawnSync } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { canMakeDebs, makeDeb } from '../../../packaging/deb/deb.ts'
import { ownArchitecture, products } from '../../../packaging/products.ts'
import { needs } from '../../harness/installed.ts'
import { temporaryFolder } from '../../harness/processes.ts'
import { type DebianRoot, makeDebianRoot } from './debian-root.ts'

const architecture = ownArchitecture()
const maintainer = { name: 'Jane Doe', email: 'jane@example.com' }

describe('a Debian package', {
  ...(architecture && canMakeDebs() ? needs('root', 'mounts', 'systemd-analyze') : { skip: true }),
}, () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let debian: DebianRoot
  const at = (path: string) => debian.at(path)
  const names = products.map(({ name }) => name)

  beforeAll(async () => {
    folder = await temporaryFolder()
    mkdirSync(join(folder.path, 'work'))
    debian = makeDebianRoot(folder.path)
    // What systemd is asked is written down.
    const record = (tool: string, more = '') =>
      writeFileSync(at(`usr/bin/${tool}`), `#!/bin/sh\necho ${tool} "$@" >>/calls\n${more}`, { mode: 0o755 })
    record('deb-systemd-invoke')
    renameSync(at('usr/bin/systemctl'), at('usr/bin/systemctl.real'))
    // The links of units need no systemd that runs.
    record('systemctl', 'case "$*" in *preset*) exec systemctl.real "$@" ;; esac\n')
    for (const version of ['1.0.0', '1.1.0'])
      for (const product of products) {
        const release = { version, epochSeconds: 1_700_000_000, maintainer }
        // Without its programs, Node.js and Deno, which are most of it.
        const small = { ...product, engines: [], programs: [] }
        const work = join(folder.path, 'work')
        makeDeb(small, architecture!, { release, target: at(version), work, fast: true })
      }
  })
  afterAll(async () => {
    debian.remove()
    await folder.remove()
  })

  const inMachine = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('/usr/sbin/chroot', [debian.path, ...args], {
      encoding: 'utf8',
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    })
    if (status !== 0) throw new Error(`${args.join(' ')}: ${stderr}${stdout}`)
    return stdout
  }
  /** @returns what systemd was asked */
  const dpkg = (...args: string[]) => {
    writeFileSync(at('calls'), '')
    inMachine('dpkg', '--force-depends', '--force-confold', '--force-unsafe-io', ...args)
    return readFileSync(at('calls'), 'utf8').trim().split('\n')
  }
  const install = (version: string) => dpkg('--recursive', '--install', `/${version}`)
  const exists = (path: string) => lstatSync(at(path), { throwIfNoEntry: false }) !== undefined
  const isEnabled = (name: string) => exists(`etc/systemd/system/multi-user.target.wants/${name}.service`)
  const invoked = (calls: readonly string[]) =>
    calls.filter((call) => call.startsWith('deb-systemd-invoke')).toSorted()
  const every = (verb: string) => names.map((name) => `deb-systemd-invoke ${verb} ${name}.service`).toSorted()

  it('makes its user, enables its unit and starts it', () => {
    const calls = install('1.0.0')
    for (const name of names) {
      expect(inMachine('getent', 'passwd', name)).toMatch(
        new RegExp(`^${name}:.*:/var/lib/${name}:/usr/sbin/nologin\n$`),
      )
      expect(isEnabled(name), name).toBe(true)
    }
    expect(invoked(calls)).toEqual(every('start'))
    expect(calls).toContain('systemctl --system daemon-reload')
  })

  it('is upgraded with one restart, and leaves settings, state and a disabled service as they are', () => {
    for (const { name, section } of products) {
      writeFileSync(at(`etc/selvedge/${section}.json`), '{ "changed": true }')
      writeFileSync(at(`etc/selvedge/${section}.env`), 'SECRET=1')
      mkdirSync(at(`var/lib/${name}`), { recursive: true })
      writeFileSync(at(`var/lib/${name}/state`), 'state')
      rmSync(at(`etc/systemd/system/multi-user.target.wants/${name}.service`))
    }
    expect(invoked(install('1.1.0'))).toEqual(every('restart'))
    for (const { name, section } of products) {
      expect(readFileSync(at(`etc/selvedge/${section}.json`), 'utf8')).toContain('changed')
      expect(readFileSync(at(`etc/selvedge/${section}.env`), 'utf8')).toBe('SECRET=1')
      expect(readFileSync(at(`var/lib/${name}/state`), 'utf8')).toBe('state')
      expect(isEnabled(name), name).toBe(false)
    }
  })

  it('stops when it is removed, and leaves its settings and its state', () => {
    expect(invoked(dpkg('--remove', ...names))).toEqual(every('stop'))
    for (const { name, section } of products) {
      for (const path of [
        `var/lib/${name}/state`,
        `etc/selvedge/${section}.json`,
        `etc/selvedge/${section}.env`,
      ])
        expect(exists(path), path).toBe(true)
      expect(exists(`usr/lib/${name}`), name).toBe(false)
    }
  })

  it('leaves nothing when it is purged, but the settings of others', () => {
    writeFileSync(at('etc/selvedge/other.json'), '{}')
    dpkg('--purge', ...names)
    for (const { name } of products) {
      expect(exists(`var/lib/${name}`), name).toBe(false)
      expect(exists(`var/lib/systemd/deb-systemd-helper-enabled/${name}.service.dsh-also`), name).toBe(false)
    }
    expect(readdirSync(at('etc/selvedge'))).toEqual(['other.json'])
  })

  it('leaves no folder of settings when nothing is in it', () => {
    install('1.1.0')
    rmSync(at('etc/selvedge/other.json'))
    dpkg('--purge', ...names)
    expect(exists('etc/selvedge')).toBe(false)
  })
})
