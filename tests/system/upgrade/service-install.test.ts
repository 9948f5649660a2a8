/** `selvedge service install` copies a release into its folder: what it trusts, and what it leaves. In a namespace with an empty /opt. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'
import { launcher } from './installation.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(() => folder.remove())

/** A release that was unpacked. */
function unpacked(version: string): string {
  const path = join(folder.path, `unpacked-${version}`)
  mkdirSync(join(path, 'systemd'), { recursive: true })
  writeFileSync(join(path, 'VERSION'), `${version}\n`)
  writeFileSync(join(path, 'systemd/choose-release'), readFileSync(launcher), { mode: 0o755 })
  utimesSync(join(path, 'VERSION'), 1_700_000_000, 1_700_000_000)
  return path
}

/** @param script of the shell, with `install <folder> <prefix>` and `link <path> <target>` */
function run(script: string, ...args: string[]) {
  const module = join(root, 'apps/cli/src/commands/service/releases.ts')
  const program = `const { installRelease, linkCommand } = await import(${JSON.stringify(module)}); const [from, prefix, link] = process.argv.slice(1); try { if (link) linkCommand(link, from); else await installRelease(from, prefix) } catch (cause) { console.log(cause.message); process.exitCode = 1 }`
  const preamble = `install() { "$NODE" --conditions=source --input-type=module -e "$PROGRAM" "$@"; }; link() { install "$2" - "$1"; }`
  // Binding the whole tree, as bwrap does, fails when another program removes a mount meanwhile.
  const place = 'mount -t tmpfs -o mode=755 tmpfs /opt'
  const env = { PATH: process.env.PATH, NODE: process.execPath, PROGRAM: program }
  const { stdout, stderr } = spawnSync(
    'unshare',
    ['--mount', 'sh', '-c', `${place}\n${preamble}\n${script}`, 'sh', ...args],
    { encoding: 'utf8', env, cwd: folder.path },
  )
  expect(stderr).toBe('')
  return stdout.trim().split('\n')
}

describe('an installation by root', needs('root'), () => {
  it('keeps the time of the release, so that a wrong clock does not change which keys are valid', () => {
    const out = run('install "$1" /opt/selvedge; stat -c %Y /opt/selvedge/current/VERSION', unpacked('1.0.0'))
    expect(out).toEqual(['1700000000'])
  })

  it('makes nothing in a folder of another user, not even through a link of that user', () => {
    const script =
      'mkdir -m 777 /opt/open /opt/root; ln -s /opt/root /opt/open/link; install "$1" /opt/open/link/x >/dev/null; find /opt'
    expect(run(script, unpacked('1.0.0')).sort()).toEqual([
      '/opt',
      '/opt/open',
      '/opt/open/link',
      '/opt/root',
    ])
  })

  it('over an upgrade on trial starts what was installed, and not on trial', () => {
    const script = `install "$1" /opt/selvedge; cd /opt/selvedge; mkdir releases/1.1.0; ln -s releases/1.1.0 untried; ln -s releases/1.1.0 trial
      ln -sfn releases/1.1.0 current; ln -s releases/1.0.0 previous; install "$1" /opt/selvedge; find . -type l -printf '%P %l\\n' | sort`
    expect(run(script, unpacked('1.0.0'))).toEqual(['current releases/1.0.0', 'previous releases/1.0.0'])
  })

  it('of a version that is installed already replaces its files', () => {
    const from = unpacked('1.0.0')
    const script =
      'install "$1" /opt/selvedge; touch "$1/new"; install "$1" /opt/selvedge; cd /opt/selvedge; ls current/new; ls -A releases'
    expect(run(script, from)).toEqual(['current/new', '1.0.0'])
  })

  it('puts its command into PATH in place of a link that leads nowhere, and of nothing else', () => {
    const script = `cd /opt; ln -s /opt/removed dangling; echo other > command
      for path in new dangling command; do link "/opt/$path" /bin/sh; readlink "$path" || cat "$path"; done`
    expect(run(script)).toEqual(['/bin/sh', '/bin/sh', 'other'])
  })

  it('waits for no upgrade that is under way: it is refused', () => {
    const script = `install "$1" /opt/selvedge
      start=$(sed 's/.*) //' /proc/$$/stat | cut -d ' ' -f 20); ln -s "$(cat /proc/sys/kernel/random/boot_id):$start" /opt/selvedge/upgrade.lock.$$
      install "$1" /opt/selvedge`
    expect(run(script, unpacked('1.0.0'))).toEqual([expect.stringMatching(/is changing this installation/)])
  })

  it('refuses a release without a version, since its folder would have any name', () => {
    const from = unpacked('1.0.0')
    writeFileSync(join(from, 'VERSION'), '../../x\n')
    expect(run('install "$1" /opt/selvedge; ls -A /opt/selvedge/releases', from)).toEqual([
      expect.stringMatching(/has no version/),
    ])
  })
})
