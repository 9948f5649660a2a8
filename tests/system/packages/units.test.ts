/** The systemd units, without a systemd that runs: what they forbid, and that systemd accepts every line of them. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { products } from '../../../packaging/products.ts'
import { sysusersOf, unitsOf } from '../../../packaging/systemd/settings.ts'
import { needs } from '../../harness/installed.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'

const fileOf = (file: string) => join(root, 'packaging/systemd', file)
const pathOf = (name: string) => fileOf(`${name}.service`)

/** Highest exposure by systemd-analyze, in tenths. The runtime leaves open what bubblewrap and control groups need. */
const highest: Readonly<Record<string, number>> = {
  selvedge: 35,
  'selvedge-join-key': 20,
  'selvedge-identity': 20,
  'selvedge-discovery': 20,
}

describe('the unit', needs('systemd-analyze'), () => {
  it.each(Object.entries(highest))('%s is exposed by at most %i tenths', (name, limit) => {
    const args = ['security', '--no-pager', '--offline=true', `--threshold=${limit}`, pathOf(name)]
    const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
    expect(stderr).not.toMatch(/Unknown|ignoring/)
    expect(status, stdout.slice(-200)).toBe(0)
  })
})

it.each(products)('$name has a user with a description that /etc/passwd can hold', (product) => {
  const [, , description] = /^u (\S+) - "([^":]+)" \/var\/lib\/\S+\n$/.exec(sysusersOf(product)) ?? []
  expect(description).toBeDefined()
})

it.each(products)(
  '$name is started again without end, but not with settings that a person has to repair',
  ({ name }) => {
    const unit = readFileSync(pathOf(name), 'utf8')
    expect(unit).toContain('Restart=on-failure')
    expect(unit).toContain('StartLimitIntervalSec=0')
    expect(unit).toContain('RestartPreventExitStatus=78')
  },
)

it.each(products)(
  '$name has its own user, state folder, settings and readiness, and no rights',
  ({ name, section }) => {
    const unit = readFileSync(pathOf(name), 'utf8')
    expect(unit.split('\n')).toEqual(
      expect.arrayContaining([
        'Type=notify',
        'NotifyAccess=all',
        `ExecStart=/usr/lib/${name}/bin/${section === 'runtime' ? 'selvedge-runtime' : name}`,
        `User=${name}`,
        `StateDirectory=${name}`,
        'StateDirectoryMode=0700',
        'UMask=0077',
        `EnvironmentFile=-/etc/selvedge/${section}.env`,
        'CapabilityBoundingSet=',
        'NoNewPrivileges=yes',
        'ProtectSystem=strict',
        'WantedBy=multi-user.target',
      ]),
    )
    expect(unit).toMatch(
      new RegExp(
        `^Environment=SELVEDGE_CONFIG=/etc/selvedge/${section}.json SELVEDGE_STATE=/var/lib/${name}(?: |$)`,
        'm',
      ),
    )
  },
)

it('the unit of the runtime delegates control groups, and has a folder for its socket', () => {
  const unit = readFileSync(pathOf('selvedge'), 'utf8').split('\n')
  const wanted = ['Delegate=cpu memory pids', 'RuntimeDirectory=selvedge', 'RuntimeDirectoryMode=0750']
  expect(unit).toEqual(expect.arrayContaining(wanted))
})

describe('systemd', needs('systemd-analyze'), () => {
  it.each(products)('accepts every line of the units of $name', async (product) => {
    const folder = await temporaryFolder()
    const paths: string[] = []
    for (const [file, text] of unitsOf(product)) {
      paths.push(join(folder.path, file))
      // The program of the unit is not installed here.
      writeFileSync(paths.at(-1)!, text.replace(/^ExecStart=\/usr\/lib.*$/m, 'ExecStart=/bin/true'))
    }
    const args = ['verify', '--man=no', '--recursive-errors=no', ...paths]
    const { status, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
    await folder.remove()
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })
})
