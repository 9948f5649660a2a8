/** `selvedge service …` of a tarball, in a namespace with folders of the test as /etc and /opt: what it writes, and what it refuses. */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ownArchitecture, products } from '../../../packaging/products.ts'
import { makeTarball } from '../../../packaging/tarball/tarball.ts'
import { needs } from '../../harness/installed.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'

type Folder = Awaited<ReturnType<typeof temporaryFolder>>

const release = {
  version: '9.8.7',
  epochSeconds: 1_700_000_000,
  maintainer: { name: 'Jane Doe', email: 'jane@example.com' },
}
const unitPath = 'etc/systemd/system/selvedge.service'

/** Writes down how it was called, prints /machine/answer if it is there, and fails if /machine/failure is. */
const recorder = `#!/bin/sh
echo "$0 $*" >>/machine/calls
[ ! -e /machine/answer ] || cat /machine/answer
[ ! -e /machine/failure ] || { cat /machine/failure >&2; exit 3; }
`

describe('selvedge service', ownArchitecture() ? needs('bwrap', 'systemd-analyze') : { skip: true }, () => {
  let made: Folder
  let tarball: string
  let machine: Folder
  const at = (...path: string[]) => join(machine.path, ...path)

  beforeAll(async () => {
    made = await temporaryFolder()
    execFileSync(process.execPath, [join(root, 'scripts/bundle.mjs')])
    mkdirSync(join(made.path, 'work'))
    // Without Node.js and Deno, which are most of it: the test has a Node.js.
    const product = { ...products[0]!, engines: [], programs: ['cli' as const] }
    tarball = makeTarball(product, ownArchitecture()!, {
      release,
      target: made.path,
      work: join(made.path, 'work'),
      fast: true,
    })
  })
  afterAll(() => made.remove())

  beforeEach(async () => {
    machine = await temporaryFolder()
    for (const each of ['opt', 'etc/systemd/system', 'local/bin', 'home', 'machine', 'sandbox'])
      mkdirSync(at(each), { recursive: true })
    for (const each of ['passwd', 'group', 'shadow', 'gshadow']) writeFileSync(at('etc', each), '')
    writeFileSync(at('tool'), recorder, { mode: 0o755 })
  })
  afterEach(() => machine.remove())

  /** Unpacks the tarball in the home folder of a person. */
  function unpack(folder: string): string {
    mkdirSync(at('home', folder), { recursive: true })
    execFileSync('tar', ['xzf', tarball, '-C', at('home', folder), '--strip-components=1'])
    return join('/home', folder)
  }

  interface Place {
    readonly from?: string
    readonly uid?: number
    readonly umask?: string
    readonly hasSystemd?: boolean
  }

  /** Runs the command of the tarball as root of the machine. */
  function service(
    args: readonly string[],
    { from = unpack('pi'), uid = 0, umask = '022', hasSystemd = true }: Place = {},
  ) {
    const bind = (path: string, as: string) => ['--bind', at(path), as]
    const node = dirname(process.execPath)
    const tools = ['/usr/bin/systemctl', '/usr/bin/journalctl'].flatMap((as) => bind('tool', as))
    const { status, stdout, stderr } = spawnSync(
      'bwrap',
      [
        ...['--unshare-user', '--unshare-pid', '--unshare-net', '--uid', String(uid), '--gid', String(uid)],
        ...['--ro-bind', '/usr', '/usr', '--proc', '/proc', '--dev', '/dev'],
        ...['bin', 'sbin', 'lib', 'lib64'].flatMap((each) => ['--symlink', `usr/${each}`, `/${each}`]),
        ...['--ro-bind', node, '/node', ...bind('opt', '/opt'), ...bind('etc', '/etc')],
        ...[...bind('local', '/usr/local'), ...bind('home', '/home'), ...bind('machine', '/machine')],
        ...(hasSystemd ? tools : ['--tmpfs', '/usr/bin', '--ro-bind', '/usr/bin/sh', '/usr/bin/sh']),
        ...['--setenv', 'HOME', '/home/a b%h\nUser=root', '--chdir', '/'],
        ...['/bin/sh', '-c', `umask ${umask}; exec "$@"`, 'sh'],
        ...['/node/node', `${from}/cli/dist/main.cjs`, 'service', ...args],
      ],
      { encoding: 'utf8' },
    )
    return { status, stdout, stderr }
  }
  const calls = () =>
    existsSync(at('machine/calls')) ? readFileSync(at('machine/calls'), 'utf8').trim().split('\n') : []
  const unit = () => readFileSync(at(unitPath), 'utf8')
  const unchanged = () => {
    expect([readdirSync(at('opt')), readdirSync(at('etc/systemd/system')), calls()]).toEqual([[], [], []])
    expect(existsSync(at('etc/selvedge'))).toBe(false)
  }

  describe('install', () => {
    it('installs the release, its user, its settings and its unit, and starts it', () => {
      expect(service(['install'])).toMatchObject({ status: 0 })
      expect(readlinkSync(at('opt/selvedge/current'))).toBe('releases/9.8.7')
      expect(unit()).toContain(
        'ExecStartPre=+/opt/selvedge/choose-release\nExecStart=/opt/selvedge/current/bin/',
      )
      expect(unit()).not.toMatch(/\/usr\/lib\/selvedge|^RestartPreventExitStatus/m)
      const helpers = ['selvedge-join-key.path', 'selvedge-join-key.service', 'selvedge.service']
      expect(readdirSync(at('etc/systemd/system')).toSorted()).toEqual(helpers)
      expect(JSON.parse(readFileSync(at('etc/selvedge/runtime.json'), 'utf8'))).toHaveProperty('runtime')
      expect(readFileSync(at('etc/passwd'), 'utf8')).toMatch(/^selvedge:/m)
      expect(readlinkSync(at('local/bin/selvedge'))).toBe('/opt/selvedge/current/bin/selvedge')
      expect(calls()).toEqual([
        '/usr/bin/systemctl daemon-reload',
        '/usr/bin/systemctl enable selvedge.service',
        '/usr/bin/systemctl restart selvedge.service',
      ])
    })

    it('installs from a folder with spaces, specifiers and line breaks in its name', () => {
      const from = unpack('a b%h/$(touch x)\nUser=root "\\')
      expect(service(['install'], { from })).toMatchObject({ status: 0 })
      expect(unit()).not.toMatch(/home|^User=root/m)
      expect(readFileSync(at('opt/selvedge/releases/9.8.7/VERSION'), 'utf8')).toBe('9.8.7\n')
    })

    it('lets the user of the service read what it installs, whatever the umask is', () => {
      const from = unpack('pi')
      execFileSync('chmod', ['-R', 'go-rwx', at('home/pi')])
      expect(service(['install'], { from, umask: '077' })).toMatchObject({ status: 0 })
      const readable = [
        'opt/selvedge',
        'opt/selvedge/releases',
        'opt/selvedge/releases/9.8.7',
        'etc/selvedge',
      ]
      for (const each of readable) expect((statSync(at(each)).mode & 0o777).toString(8), each).toBe('755')
      for (const each of ['etc/selvedge/runtime.json', unitPath, 'opt/selvedge/releases/9.8.7/VERSION'])
        expect((statSync(at(each)).mode & 0o777).toString(8), each).toBe('644')
      for (const each of ['choose-release', 'releases/9.8.7/bin/selvedge-runtime'])
        expect((statSync(at('opt/selvedge', each)).mode & 0o777).toString(8), each).toBe('755')
    })

    it.each(['/opt/a b', '/opt/%h', '/opt/a\nExecStart=/bin/sh', '/opt/"x"', '/opt/$x', '/opt/a;b'])(
      'refuses the folder %j, and changes nothing',
      (prefix) => {
        expect(service(['install', '--prefix', prefix])).toMatchObject({
          status: 2,
          stderr: expect.stringContaining('characters that a systemd unit cannot have'),
        })
        unchanged()
      },
    )

    it('follows a link in the path, and names the real folder in the unit', () => {
      mkdirSync(at('opt/disk'))
      symlinkSync('/opt/disk', at('opt/link'))
      expect(service(['install', '--prefix', '/opt/link/selvedge'])).toMatchObject({ status: 0 })
      expect(unit()).toContain('ExecStart=/opt/disk/selvedge/current/bin/selvedge-runtime')
    })

    it.each([
      ['that another user can change', '/opt/open/selvedge'],
      ['behind a link to one that another user can change', '/opt/link/selvedge'],
      ['with a real path that a unit cannot have', '/opt/odd/selvedge'],
    ])('refuses a folder %s', (_, prefix) => {
      mkdirSync(at('opt/open'))
      chmodSync(at('opt/open'), 0o777)
      symlinkSync('/opt/open', at('opt/link'))
      mkdirSync(at('opt/a %h'))
      symlinkSync('/opt/a %h', at('opt/odd'))
      expect(service(['install', '--prefix', prefix])).toMatchObject({ status: 2 })
      expect([readdirSync(at('opt/open')), readdirSync(at('opt/a %h')), calls()]).toEqual([[], [], []])
      expect(existsSync(at(unitPath))).toBe(false)
    })

    it('saves a unit that someone changed, and leaves settings and another command alone', () => {
      writeFileSync(at(unitPath), '[Service]\nExecStart=/bin/mine\n')
      mkdirSync(at('etc/selvedge'))
      writeFileSync(at('etc/selvedge/runtime.json'), '{}')
      writeFileSync(at('local/bin/selvedge'), 'mine')
      const { status, stderr } = service(['install'])
      expect({ status, stderr }).toMatchObject({
        status: 0,
        stderr: expect.stringContaining('/etc/systemd/system/selvedge.service.old'),
      })
      expect(readFileSync(at(`${unitPath}.old`), 'utf8')).toContain('ExecStart=/bin/mine')
      expect(unit()).toContain('/opt/selvedge/')
      expect(readFileSync(at('etc/selvedge/runtime.json'), 'utf8')).toBe('{}')
      expect(readFileSync(at('local/bin/selvedge'), 'utf8')).toBe('mine')
      // The second time the unit is its own.
      expect(service(['install']).stderr).not.toContain('selvedge.service.old')
      expect(readFileSync(at(`${unitPath}.old`), 'utf8')).toContain('ExecStart=/bin/mine')
    })

    it('replaces a command that is a link to nowhere', () => {
      symlinkSync('/opt/gone/bin/selvedge', at('local/bin/selvedge'))
      expect(service(['install'])).toMatchObject({ status: 0 })
      expect(readlinkSync(at('local/bin/selvedge'))).toBe('/opt/selvedge/current/bin/selvedge')
    })

    it('refuses a service that is masked', () => {
      symlinkSync('/dev/null', at(unitPath))
      expect(service(['install'])).toMatchObject({
        status: 2,
        stderr: expect.stringContaining('systemctl unmask selvedge'),
      })
      expect([readdirSync(at('opt')), calls(), lstatSync(at(unitPath)).isSymbolicLink()]).toEqual([
        [],
        [],
        true,
      ])
    })

    it('changes nothing without systemd, and for another user than root', () => {
      expect(service(['install'], { hasSystemd: false })).toMatchObject({
        status: 2,
        stderr: expect.stringContaining('systemctl is not installed'),
      })
      unchanged()
      expect(service(['install'], { uid: 1000 })).toMatchObject({
        status: 2,
        stderr: expect.stringContaining('only root can install a service'),
      })
      unchanged()
    })

    it('fails with the error of systemd', () => {
      writeFileSync(at('machine/failure'), 'Failed to reload: no bus\u001b[31m\n')
      const { status, stderr } = service(['install'])
      expect({ status, stderr }).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('systemctl daemon-reload failed: Failed to reload: no bus'),
      })
      expect(stderr).not.toContain('\u001b')
    })

    it('is only for a tarball', () => {
      const from = unpack('pi')
      cpSync(at('home/pi/cli'), at('home/clone/cli'), { recursive: true })
      expect(from).toBe('/home/pi')
      expect(service(['install'], { from: '/home/clone' })).toMatchObject({
        status: 2,
        stderr: expect.stringContaining('does not come from a tarball'),
      })
      unchanged()
    })
  })

  it('status shows what systemd reports, whatever is in it', () => {
    writeFileSync(
      at('machine/answer'),
      'ActiveState=active\nSubState=running\nMainPID=7\nFragmentPath=/etc/a=b\u001b[2J\nnonsense\n=\n',
    )
    const { status, stdout } = service(['status', '--json'])
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ service: 'selvedge', state: 'active', pid: '7', restarts: '' })
    expect(stdout).toContain('/etc/a=b')
    expect(service(['status']).stdout).not.toContain('\u001b')
    expect(calls()[0]).toMatch(/^\/usr\/bin\/systemctl show --property=ActiveState .*selvedge\.service$/)
    expect(service(['status', 'ssh']).status).toBe(2)
    expect(service(['status', '--version\nx']).status).toBe(2)
  })

  it('logs prints the journal on lines without control sequences', () => {
    writeFileSync(at('machine/answer'), '{"message":"one"}\n\u001b[2Jtwo\u0007\n')
    const { status, stdout } = service(['logs', 'selvedge-identity', '--lines', '2'])
    expect(status).toBe(0)
    expect(stdout).toMatch(/^\{"message":"one"\}\n.*two/)
    expect(stdout).not.toMatch(/\u001b|\u0007/)
    expect(calls()).toEqual([
      '/usr/bin/journalctl --no-pager --output=cat --unit=selvedge-identity.service --lines=2',
    ])
    expect(service(['logs', '--lines', '1;id']).status).toBe(2)
    writeFileSync(at('machine/failure'), 'no journal')
    expect(service(['logs'])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('journalctl failed: no journal'),
    })
    expect(service(['logs'], { hasSystemd: false })).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('journalctl is not installed'),
    })
  })
})
