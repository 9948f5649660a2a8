/**
 * The page for operators, run as it is: every block of it, by a shell, on a machine with the packages. The machine is this one below an
 * overlay and in a network of its own, where a script replaces systemd.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { canMakeDebs, makeDeb } from '../../../packaging/deb/deb.ts'
import { ownArchitecture, products } from '../../../packaging/products.ts'
import { makeAuthority } from '../../harness/authority.ts'
import { needs } from '../../harness/installed.ts'
import { makeNetworks, type Networks } from '../../harness/networks.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'
import { addSystemTools, type DebianRoot, makeDebianRoot } from './debian-root.ts'

const architecture = ownArchitecture()
const maintainer = { name: 'Jane Doe', email: 'jane@example.com' }
const product = products.find(({ name }) => name === 'selvedge-identity')!

/** Blocks of the page: `sh` is for all choices, `sh nginx` for one of them. */
const blocksFor = (choices: readonly string[]): string[] =>
  [
    ...readFileSync(join(root, 'docs/operator-first-day.md'), 'utf8').matchAll(
      /^```sh(?: (\w+))?\n([\s\S]*?)^```$/gm,
    ),
  ]
    .filter(([, choice]) => choice === undefined || choices.includes(choice))
    .map(([, , commands]) => commands!)

describe('the page for operators', {
  ...(architecture && canMakeDebs()
    ? needs('root', 'mounts', 'networks', 'openssl', 'nginx', 'caddy', 'postgres', 'curl')
    : { skip: true }),
}, () => {
  let packages: Awaited<ReturnType<typeof temporaryFolder>>
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let debian: DebianRoot
  let networks: Networks
  const at = (path: string) => debian.at(path)
  const mount = (...args: string[]) => expect(spawnSync('mount', args).status).toBe(0)

  beforeAll(async () => {
    packages = await temporaryFolder()
    for (const each of ['day/later', 'work']) mkdirSync(join(packages.path, each), { recursive: true })
    for (const [version, target] of [
      ['1.0.0', 'day'],
      ['1.1.0', 'day/later'],
    ] as const) {
      const release = { version, epochSeconds: 1_700_000_000, maintainer }
      const [own, work] = [join(packages.path, target), join(packages.path, 'work')]
      makeDeb(product, architecture!, { release, target: own, work, fast: true })
    }
  })
  afterAll(() => packages.remove())

  beforeEach(async () => {
    folder = await temporaryFolder()
    debian = makeDebianRoot(folder.path)
    for (const each of ['proc', 'dev']) mount('--rbind', `/${each}`, at(each))
    networks = makeNetworks({ day: {} })
    addSystemTools(debian)
    writeFileSync(at('etc/hosts'), '127.0.0.1 localhost id.example.com\n')
    mkdirSync(at('day'))
    mount('--bind', join(packages.path, 'day'), at('day'))
    const authority = makeAuthority(folder.path, 'Company Root', 'Company')
    const issuing = authority.intermediate('Company Issuing')
    const { cert, key } = issuing.issue('id.example.com')
    mkdirSync(at('etc/ssl/selvedge'))
    writeFileSync(at('etc/ssl/selvedge/fullchain.pem'), cert + readFileSync(issuing.path, 'utf8'))
    writeFileSync(at('etc/ssl/selvedge/privkey.pem'), key)
    copyFileSync(authority.path, at('day/company-ca.crt'))
  })
  afterEach(async () => {
    // By their root: nothing that the page started stays.
    spawnSync('sh', [
      '-c',
      'for each in /proc/[0-9]*/root; do [ "$(readlink "$each")" = "$0" ] && kill -KILL "$(echo "$each" | cut -d/ -f3)"; done; true',
      debian.path,
    ])
    debian.remove()
    networks.remove()
    await folder.remove()
  })

  /** @returns what a shell prints that runs commands in the folder with the packages */
  function run(commands: string): string {
    const { status, stdout, stderr } = spawnSync(
      'ip',
      [
        'netns',
        'exec',
        networks.spaceOf('day'),
        'chroot',
        debian.path,
        'bash',
        '-euo',
        'pipefail',
        '-c',
        `cd /day; ${commands}`,
      ],
      {
        encoding: 'utf8',
        env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', DEBIAN_FRONTEND: 'noninteractive' },
      },
    )
    expect(status, `${commands}\n${stdout}${stderr}`).toBe(0)
    return stdout
  }

  it.each([
    ['SQLite and nginx', ['sqlite', 'nginx']],
    ['PostgreSQL and Caddy', ['postgresql', 'caddy']],
  ])('runs with %s', (_, choices) => {
    if (choices.includes('postgresql')) run('systemctl start postgresql')
    // One shell, so that a block has the variables of an earlier one.
    const out = run(blocksFor(choices).join('\n'))
    expect(out).toMatch(/https:\/\/id\.example\.com\/setup#[\w-]{43}$/m)
    expect(out).toMatch(/^selvedge_backup_age_seconds(?:\{\})? \d/m)
    expect(run('dpkg-query --show selvedge-identity')).toContain('1.1.0')
    expect(run('cat /var/log/selvedge-identity.log')).toContain('selvedge-admin account link')
    // The command line of the package trusts what the system trusts.
    const cli = '/usr/lib/selvedge-identity/node /usr/lib/selvedge-identity/cli/dist/main.cjs'
    const signIn = `timeout 60 ${cli} login --json --identity-url https://id.example.com`
    // It waits for a person then.
    expect(run(`exec 3< <(exec ${signIn}); head -n 1 <&3; kill "$!"`)).toContain('verification_uri')
    if (choices.includes('postgresql'))
      expect(run('selvedge-admin store backup /var/backups/other 2>&1 || true')).toContain(
        'pg_dump --format=custom --file=<file> --host=127.0.0.1 --username=selvedge selvedge',
      )
  })
})
