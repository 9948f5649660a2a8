/** The releases of an installation: which one starts, in every state that an upgrade, a start or a power cut leaves. */
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openBelow, recordSteps } from '../../../../tests/harness/recorded-steps.ts'
import { UsageError } from '../failure.ts'
import { placeRelease, prefixOf, readInstallation, removeUnused, rollBack, switchTo } from './installation.ts'

let folder: string
let prefix: string
let state: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-installation-'))
  prefix = join(folder, 'prefix')
  state = join(folder, 'state')
  mkdirSync(state)
  for (const version of ['1.0.0', '1.1.0']) mkdirSync(join(prefix, 'releases', version), { recursive: true })
})
afterEach(() => {
  expect(openBelow(folder)).toEqual([])
  rmSync(folder, { recursive: true })
})

type Links = Readonly<Record<string, string>>
function setLinks(links: Links): void {
  for (const [name, version] of Object.entries(links))
    symlinkSync(join('releases', version), join(prefix, name))
}
/** The links that are there, by name. */
const links = (): Links =>
  Object.fromEntries(
    readdirSync(prefix)
      .filter((name) => name !== 'releases')
      .map((name) => [name, readlinkSync(join(prefix, name)).replace(/^releases\//, '')]),
  )
const read = () => readInstallation(prefix, state)
const confirmation = () => join(state, 'confirmed-release')

describe('an installation', () => {
  it('is read from its links, and its releases are the folders that have the name of a version', () => {
    setLinks({ current: '1.1.0', previous: '1.0.0', failed: '1.2.0' })
    for (const name of ['.upgrade-x', '.removed-0.9.0', 'notes']) mkdirSync(join(prefix, 'releases', name))
    const { releases, ...rest } = read()
    expect(rest).toEqual({
      prefix,
      current: '1.1.0',
      previous: '1.0.0',
      failed: '1.2.0',
      phase: 'confirmed',
    })
    expect([...releases].sort()).toEqual(['1.0.0', '1.1.0'])
  })

  it('has its real path, whatever link leads to it', () => {
    setLinks({ current: '1.1.0' })
    symlinkSync(prefix, join(folder, 'link'))
    expect(readInstallation(join(folder, 'link'), state).prefix).toBe(prefix)
  })

  it.each<[what: string, make: () => void]>([
    ['no current release', () => undefined],
    ['a file in place of the link to its current release', () => writeFileSync(join(prefix, 'current'), '')],
    [
      'no folder of releases',
      () => {
        setLinks({ current: '1.1.0' })
        rmSync(join(prefix, 'releases'), { recursive: true })
      },
    ],
  ])('is not there with %s', (_, make) => {
    make()
    expect(read).toThrow(UsageError)
    expect(read).toThrow(`${prefix} has no releases`)
  })

  it('is the one of the program, unless another one is named', () => {
    expect(prefixOf('/opt/selvedge/releases/1.0.0/cli/main.js')).toBe('/opt/selvedge')
    expect(prefixOf('/releases/1.0.0/cli/main.js')).toBe('')
    expect(() => readInstallation(undefined, state)).toThrow('does not hold releases')
  })

  it.each([
    '/usr/lib/selvedge/cli/main.js',
    '/opt/releases/cli/main.js',
    '/opt/releases/a/b/cli/main.js',
    '/opt/releases/1.0.0/runtime/main.js',
    '/opt/releases/1.0.0/cli',
    '/a\n/opt/releases/1.0.0/cli/main.js',
  ])('is not found for a program at %j', (path) => {
    expect(prefixOf(path)).toBeUndefined()
  })
})

describe('the current release', () => {
  const current = '1.1.0'
  it.each<[phase: string, when: string, marks: Links, confirmed: string | undefined]>([
    ['confirmed', 'without a mark', {}, undefined],
    ['untried', 'if it was not started since the upgrade', { untried: current }, undefined],
    ['untried', 'whatever an earlier trial confirmed', { untried: current, trial: current }, current],
    ['confirmed', 'if another one was not started', { untried: '1.0.0' }, undefined],
    ['trial', 'if it was started, and has not confirmed itself', { trial: current }, undefined],
    ['trial', 'if another one confirmed itself', { trial: current }, '1.0.0'],
    ['trial', 'if the confirmation has more than its version', { trial: current }, `${current}0`],
    ['confirmed', 'if it was started, and confirmed itself', { trial: current }, current],
    ['confirmed', 'if another one is on trial', { trial: '1.0.0' }, undefined],
  ])('is %s %s', (phase, _, marks, confirmed) => {
    setLinks({ current, ...marks })
    if (confirmed !== undefined) writeFileSync(confirmation(), confirmed)
    expect(read().phase).toBe(phase)
  })

  it('is not confirmed by a link to a file with its version: the user of the runtime sets it', () => {
    setLinks({ current, trial: current })
    writeFileSync(join(folder, 'elsewhere'), current)
    symlinkSync(join(folder, 'elsewhere'), confirmation())
    expect(read().phase).toBe('trial')
  })

  it('is not confirmed by a folder', () => {
    setLinks({ current, trial: current })
    mkdirSync(confirmation())
    expect(read().phase).toBe('trial')
  })

  it('is not confirmed by a pipe, also if its version is in it, and the command does not wait for it', () => {
    setLinks({ current, trial: current })
    execFileSync('mkfifo', [confirmation()])
    expect(read().phase).toBe('trial')
    const pipe = openSync(confirmation(), constants.O_RDWR)
    try {
      writeSync(pipe, current)
      expect(read().phase).toBe('trial')
    } finally {
      closeSync(pipe)
    }
  })

  it.each([
    [80, 'confirmed'],
    [81, 'trial'],
  ])('with a name of %i bytes is %s: a longer confirmation is not read', (length, phase) => {
    const name = 'x'.repeat(length)
    setLinks({ current: name, trial: name })
    writeFileSync(confirmation(), name)
    expect(read().phase).toBe(phase)
  })
})

describe('a release that gets its name', () => {
  const releases = () => join(prefix, 'releases')
  const makeTree = (content: string) => {
    mkdirSync(join(releases(), '.upgrade-x/tree'), { recursive: true })
    writeFileSync(join(releases(), '.upgrade-x/tree/VERSION'), content)
    return join(releases(), '.upgrade-x/tree')
  }

  it('has it in one step, and then durable', () => {
    const tree = makeTree('1.2.0')
    const steps = recordSteps(releases())
    placeRelease(releases(), '1.2.0', tree)
    expect(steps).toEqual(['rename .upgrade-x/tree to 1.2.0', 'sync .'])
    expect(readFileSync(join(releases(), '1.2.0/VERSION'), 'utf8')).toBe('1.2.0')
  })

  it('replaces the one that had it, which is removed under another name and after that', () => {
    writeFileSync(join(releases(), '1.1.0/old'), '')
    mkdirSync(join(releases(), '.removed-1.1.0'))
    writeFileSync(join(releases(), '.removed-1.1.0/left by a power cut'), '')
    const tree = makeTree('new')
    const steps = recordSteps(releases())
    placeRelease(releases(), '1.1.0', tree)
    expect(steps).toEqual([
      'remove .removed-1.1.0',
      'rename 1.1.0 to .removed-1.1.0',
      'rename .upgrade-x/tree to 1.1.0',
      'sync .',
      'remove .removed-1.1.0',
    ])
    expect(readdirSync(join(releases(), '1.1.0'))).toEqual(['VERSION'])
    expect(readdirSync(releases()).sort()).toEqual(['.upgrade-x', '1.0.0', '1.1.0'])
  })
})

it('a switch leads to the other release in its last step: until then, the installed one starts', () => {
  setLinks({ current: '1.0.0', previous: '0.9.0', trial: '1.0.0', failed: '0.8.0' })
  const installation = read()
  const steps = recordSteps(prefix)
  switchTo(installation, '1.1.0')
  expect(steps.filter((step) => step.startsWith('r'))).toEqual([
    'remove trial',
    'remove failed',
    'rename previous.new to previous',
    'rename untried.new to untried',
    'rename current.new to current',
  ])
  // Each is durable before the next one.
  expect(steps.filter((step, at) => step.startsWith('r') && steps[at + 1] !== 'sync .')).toEqual([])
  expect(links()).toEqual({ current: '1.1.0', untried: '1.1.0', previous: '1.0.0' })
})

describe('a rollback', () => {
  it.each<[why: string, before: Links, after: Links]>([
    [
      'of a confirmed release makes it the previous one',
      { current: '1.1.0', previous: '1.0.0' },
      { current: '1.0.0', previous: '1.1.0' },
    ],
    [
      'of a release that was not started does not lead back to it',
      { current: '1.1.0', previous: '1.0.0', untried: '1.1.0' },
      { current: '1.0.0', failed: '1.1.0' },
    ],
    [
      'of a release on trial does not lead back to it',
      { current: '1.1.0', previous: '1.0.0', trial: '1.1.0' },
      { current: '1.0.0', failed: '1.1.0' },
    ],
    [
      'ends a trial that is not of the current release',
      { current: '1.1.0', previous: '1.0.0', untried: '1.0.0', trial: '1.0.0', failed: '0.9.0' },
      { current: '1.0.0', previous: '1.1.0', failed: '0.9.0' },
    ],
  ])('%s', (_, before, after) => {
    setLinks(before)
    expect(rollBack(read())).toBe('1.0.0')
    expect(links()).toEqual(after)
  })

  it.each<Links>([{ current: '1.1.0' }, { current: '1.1.0', previous: '1.1.0' }])(
    'is refused with nothing to return to: %j',
    (before) => {
      setLinks(before)
      expect(() => rollBack(read())).toThrow(`${prefix} has no previous release`)
      expect(links()).toEqual(before)
    },
  )
})

describe('what no link leads to is removed', () => {
  it('and the current and the previous release stay, with what is in them', () => {
    setLinks({ current: '1.1.0', previous: '1.0.0', failed: '1.2.0' })
    const releases = join(prefix, 'releases')
    for (const name of ['0.9.0', '1.2.0', '.upgrade-x']) {
      mkdirSync(join(releases, name, 'bin'), { recursive: true })
      writeFileSync(join(releases, name, 'bin/runtime'), '')
    }
    writeFileSync(join(releases, '1.0.0/VERSION'), '')
    removeUnused(read())
    expect(readdirSync(releases).sort()).toEqual(['1.0.0', '1.1.0'])
    expect(existsSync(join(releases, '1.0.0/VERSION'))).toBe(true)
  })

  it('after the loss of its name is on the disk, so that half of it is never a release', () => {
    setLinks({ current: '1.1.0' })
    const installation = read()
    const steps = recordSteps(join(prefix, 'releases'))
    removeUnused(installation)
    expect(steps).toEqual(['rename 1.0.0 to .removed-1.0.0', 'sync .', 'remove .removed-1.0.0', 'sync .'])
  })
})
