/** The scripts of the Debian packages, which dpkg runs as root: in a namespace with a /etc and a /var/lib of their own. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { unitFor } from '../../../apps/cli/src/commands/service/install.ts'
import { products } from '../../../packaging/products.ts'
import { needs } from '../../harness/installed.ts'
import { root } from '../../harness/processes.ts'

const product = products[0]!
const scriptOf = (name: string) =>
  readFileSync(join(root, 'packaging/deb/scripts', name), 'utf8')
    .replaceAll('@name@', product.name)
    .replaceAll('@section@', product.section)

/** Runs commands around a script, which they call as `maintain <action>`. @returns what they print */
function run(script: string, commands: string, env: NodeJS.ProcessEnv = {}): string[] {
  const folders = ['/etc', '/var/lib', '/root'].flatMap((each) => ['--tmpfs', each])
  const libraries = ['/etc/ld.so.cache', '/etc/alternatives'].flatMap((each) => ['--ro-bind-try', each, each])
  const preamble = 'maintain() { printf %s "$SCRIPT" | sh -s "$@"; }'
  const { stdout, stderr, status } = spawnSync(
    'bwrap',
    [
      '--dev-bind',
      '/',
      '/',
      ...folders,
      ...libraries,
      '--chdir',
      '/',
      'sh',
      '-ec',
      `${preamble}\n${commands}`,
    ],
    {
      encoding: 'utf8',
      env: {
        PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
        SCRIPT: scriptOf(script),
        DPKG_MAINTSCRIPT_PACKAGE: product.name,
        ...env,
      },
    },
  )
  expect(status, stderr).toBe(0)
  return stdout.trim().split('\n')
}

const installed = `mkdir -p /var/lib/selvedge /etc/selvedge /etc/systemd/system
  touch /var/lib/selvedge/node-key.json /etc/selvedge/runtime.env /etc/selvedge/runtime.json`
const left = 'find /var/lib/selvedge /etc/selvedge -type f 2>/dev/null | sort'

const unit = readFileSync(join(root, 'packaging/systemd/selvedge.service'), 'utf8')
const ofTarball = unitFor('/opt/selvedge', unit)
const writeUnit = 'mkdir -p /etc/systemd/system; printf %s "$UNIT" > /etc/systemd/system/selvedge.service'

describe('installation', needs('root', 'bwrap'), () => {
  it('is refused where the service of a tarball would run in place of this one', () => {
    expect(
      run('preinst', `${writeUnit}; set +e; maintain install 2>&1; echo "exit $?"`, { UNIT: ofTarball }),
    ).toEqual([
      'error: selvedge was installed from a tarball; it retains its state if you remove its service first:',
      '  systemctl disable --now selvedge.service && rm /etc/systemd/system/selvedge.service',
      'exit 1',
    ])
  })

  it('is accepted with no unit in /etc, and with one that an administrator has copied', () => {
    expect(run('preinst', 'maintain install; echo "exit $?"')).toEqual(['exit 0'])
    expect(run('preinst', `${writeUnit}; maintain install; echo "exit $?"`, { UNIT: unit })).toEqual([
      'exit 0',
    ])
  })
})

describe('configuration', needs('root', 'bwrap'), () => {
  const stubs = `mkdir /root/bin; PATH=/root/bin:$PATH
    for each in systemd-sysusers deb-systemd-helper deb-systemd-invoke systemctl; do
      printf '#!/bin/sh\\n' > /root/bin/$each; chmod 755 /root/bin/$each
    done`
  const configure = `${stubs}; maintain configure; maintain configure 1; cat /etc/subuid; echo; cat /etc/subgid`

  it('gives Podman user IDs for containers, once', () =>
    expect(run('postinst', configure)).toEqual([
      'containers:2147483647:2147483648',
      '',
      'containers:2147483647:2147483648',
    ]))

  it('leaves the IDs that an administrator gave, and no IDs of another user', () =>
    expect(
      run(
        'postinst',
        `echo containers:500000:65536 > /etc/subuid; echo ann:100000:4000000000 > /etc/subgid; ${configure}`,
      ),
    ).toEqual(['containers:500000:65536', '', 'ann:100000:4000000000']))
})

describe('purge', needs('root', 'bwrap'), () => {
  it('removes the state and the secret settings', () => {
    expect(run('postrm', `${installed}; rm /etc/selvedge/runtime.json; maintain purge; ${left}`)).toEqual([
      '',
    ])
  })

  it('leaves what an installation from a tarball uses, which has the same folders', () => {
    expect(run('postrm', `${installed}; ${writeUnit}; maintain purge; ${left}`, { UNIT: ofTarball })).toEqual(
      ['/etc/selvedge/runtime.env', '/etc/selvedge/runtime.json', '/var/lib/selvedge/node-key.json'],
    )
  })

  it('removes the state of a unit that an administrator has copied, or masked', () => {
    const path = '/etc/systemd/system/selvedge.service'
    for (const make of [`printf %s "$UNIT" > ${path}`, `ln -s /dev/null ${path}`])
      expect(
        run('postrm', `${installed}; ${make}; maintain purge; ls /var/lib | grep selvedge || true`, {
          UNIT: unit,
        }),
      ).toEqual([''])
  })

  it('follows no link that the user of the service has put into the state folder', () => {
    const link = 'touch /root/file; ln -s /root /var/lib/selvedge/link'
    expect(run('postrm', `${installed}; ${link}; maintain purge; ls /root`)).toEqual(['file'])
  })
})
