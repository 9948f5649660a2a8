/** State folders that cannot be used: one plain sentence, an exit code, and nothing left running. */

import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { stepLimitMs } from '../../harness/limits.ts'
import { freePorts, root, startProgram, temporaryFolder } from '../../harness/processes.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeAll(async () => {
  folder = await temporaryFolder()
  writeFileSync(join(folder.path, 'file'), '')
  symlinkSync(join(folder.path, 'nowhere'), join(folder.path, 'dangling'))
  symlinkSync(join(folder.path, 'loop'), join(folder.path, 'loop'))
})
afterAll(() => folder.remove())

const programs = {
  'npm start': 'scripts/start.mjs',
  runtime: 'apps/runtime/dist/main.cjs',
  identity: 'apps/identity/dist/main.cjs',
  discovery: 'apps/discovery/dist/main.cjs',
} as const
type Name = keyof typeof programs

/** @param wrap command that runs the program */
function start(name: Name, state: string, wrap: readonly string[] = []): SpawnSyncReturns<string> {
  const [command = '', ...args] = [...wrap, process.execPath, join(root, programs[name])]
  return spawnSync(command, args, {
    env: {
      PATH: process.env.PATH,
      SELVEDGE_LINK_LOCAL: 'false',
      SELVEDGE_STATE: state,
      ...freePorts,
      STARTED_BY: mark.slice('STARTED_BY='.length),
    },
    encoding: 'utf8',
    timeout: stepLimitMs,
    killSignal: 'SIGKILL',
  })
}

/** Marks what this file starts: another run on this machine may use the same paths of /proc. */
const mark = `STARTED_BY=${randomUUID()}`

/** Processes that this file started, and what they started, on a state folder. */
const leftOver = (state: string): string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      const environment = /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0') : []
      return environment.includes(mark) && environment.includes(`SELVEDGE_STATE=${state}`)
    } catch {
      return false
    }
  })

function expectSentence(name: Name, { status, stderr }: SpawnSyncReturns<string>, sentence: RegExp): void {
  const last = stderr.trim().split('\n').at(-1)
  expect(last).toMatch(sentence)
  expect(stderr).not.toMatch(/^ +at /m)
  expect(status).toBe(name === 'npm start' ? 1 : 78)
}

describe.each(Object.keys(programs) as Name[])('%s', (name) => {
  it.each([
    [
      'in /proc',
      () => '/proc/nope',
      /can't use the state folder \/proc\/nope: no folder can be created there/,
    ],
    ['deep in /proc', () => '/proc/nope/a/b', /no folder can be created there/],
    ['that is a file', () => join(folder.path, 'file'), /it is a file, or a link to nothing/],
    ['below a file', () => join(folder.path, 'file/state'), /a part of the path is a file/],
    ['that is a link to nothing', () => join(folder.path, 'dangling'), /it is a file, or a link to nothing/],
    ['that is a loop of links', () => join(folder.path, 'loop/state'), /the path is a loop of links/],
    ['with a name that is too long', () => join(folder.path, 'x'.repeat(90)), /has more than 107 bytes/],
  ])('refuses a state folder %s', (_, path, sentence) => {
    expectSentence(name, start(name, path()), sentence)
    expect(leftOver(path())).toEqual([])
  })

  it('refuses a state folder on a read-only file system', needs('mounts'), () => {
    const state = join(folder.path, `read-only-${name.replace(' ', '-')}`)
    mkdirSync(state)
    const script = 'mount -t tmpfs -o ro none "$0" && exec "$@"'
    const wrap = ['unshare', '-m', 'sh', '-c', script, state]
    expectSentence(name, start(name, join(state, 'own'), wrap), /the file system is read-only/)
  })

  it('says that the disk is full, which passes', needs('mounts'), () => {
    const state = join(folder.path, `full-${name.replace(' ', '-')}`)
    mkdirSync(state)
    const script = 'mount -t tmpfs -o nr_inodes=2 none "$0" && exec "$@"'
    const { status, stderr } = start(name, join(state, 'a/b'), ['unshare', '-m', 'sh', '-c', script, state])
    expect(stderr.trim().split('\n').at(-1)).toMatch(/no space left on device/)
    expect(stderr).not.toMatch(/^ +at /m)
    expect(status).toBe(1)
  })
})

it('a second process on the folder of a running one is refused before it touches a file', async () => {
  const state = join(folder.path, 'shared')
  const first = await startProgram('runtime', { SELVEDGE_STATE: state, ...freePorts })
  const incoming = join(state, 'runtime/images/incoming')
  writeFileSync(join(incoming, 'draft'), 'of an upload under way')
  const { status, stderr } = start('runtime', state)
  expect(stderr).toMatch(/another runtime uses the state folder/)
  expect(status).toBe(1)
  expect(readFileSync(join(incoming, 'draft'), 'utf8')).toBe('of an upload under way')
  await first.stop('SIGKILL')
  // The lock ends with the process.
  const third = await startProgram('runtime', { SELVEDGE_STATE: state, ...freePorts })
  await third.stop()
})
