/** What of the device a container may get. Nodes and folders are made in a folder of the test. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RpcError, readSettings } from '@selvedge/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../../../tests/harness/installed.ts'
import type { EngineTraits } from './engine-traits.ts'
import { deviceSpecs, holdGiven, mountSpecs } from './given.ts'
import type { Users } from './profile.ts'

const podman = { isPodman: true, isRootless: false } as EngineTraits
const own: Users = { kind: 'own', range: { uid: 300_000, gid: 400_000 } }

let folder: string
/** Below /dev, where the settings want it. */
let node: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'given-'))
  node = `/dev/selvedge-given-${process.pid}`
})
afterEach(() => {
  rmSync(folder, { recursive: true })
  rmSync(node, { force: true })
})

const hold = (
  env: Record<string, string>,
  { traits = podman, users = own as Users, own: paths = [] as string[] } = {},
) => holdGiven({ settings: readSettings(env), traits, users, own: paths, cdiFolders: [join(folder, 'cdi')] })
async function problem(...given: Parameters<typeof hold>): Promise<string> {
  try {
    ;(await hold(...given)).close()
    return ''
  } catch (cause) {
    const { reason, message } = cause as RpcError
    return `${reason}: ${message}`
  }
}
const openFiles = () => readdirSync('/proc/self/fd').length

describe('a container without devices and folders', () => {
  it('needs no engine for them', async () => {
    expect((await hold({}, { traits: { isPodman: false } as EngineTraits })).devices).toEqual([])
  })
})

describe('a container gets of the device', needs('root'), () => {
  it.each([{ isPodman: false }, { isPodman: true, isRootless: true }])(
    'nothing with another engine: %j',
    async (traits) => {
      expect(await problem({ 'MCM.MOUNTS': '/srv:/srv' }, { traits: traits as EngineTraits })).toContain(
        'need a runtime and a Podman',
      )
    },
  )

  it.each<[string, Users]>([
    ['0666', own],
    ['0600', { kind: 'device' }],
  ])('a node of mode %s, as it is', async (mode, users) => {
    execFileSync('mknod', ['-m', mode, node, 'c', '1', '5'])
    const given = await hold({ 'MCM.DEVICES': node }, { users })
    expect(deviceSpecs(given)).toMatchObject([{ PathOnHost: node, PathInContainer: node }])
    given.close()
  })

  it('the nodes of graphics processors, and nothing else of their folder: gpu', async () => {
    const nodes = [`/dev/dri/card9${process.pid}`, `/dev/dri/renderD9${process.pid}`]
    mkdirSync('/dev/dri', { recursive: true })
    const made = [...nodes, `/dev/dri/other${process.pid}`]
    try {
      for (const each of made) execFileSync('mknod', ['-m', '0666', each, 'c', '1', '5'])
      const given = await hold({ 'MCM.DEVICES': 'gpu' }, { users: { kind: 'device' } })
      const paths = given.devices.map(({ target }) => target)
      given.close()
      expect(paths).toEqual(expect.arrayContaining(nodes))
      expect(paths.every((each) => /^\/dev\/dri\/(?:card|renderD)\d+$/.test(each))).toBe(true)
    } finally {
      for (const each of made) rmSync(each, { force: true })
      if (readdirSync('/dev/dri').length === 0) rmdirSync('/dev/dri')
    }
  })

  it('a node under another path', async () => {
    execFileSync('mknod', ['-m', '0666', node, 'c', '1', '5'])
    const given = await hold({ 'MCM.DEVICES': `${node}:/dev/ttyACM0` })
    expect(deviceSpecs(given)).toMatchObject([{ PathOnHost: node, PathInContainer: node }])
    expect(mountSpecs(given)).toEqual([`${node}:/dev/ttyACM0:rw,bind,nosuid,noexec`])
    given.close()
    expect(await problem({ 'MCM.DEVICES': `${node}-missing:${node}` })).toContain('-missing is not there')
  })

  it.each(['0600', '0660', '0664', '0662'])('no node of mode %s for users of its own', async (mode) => {
    execFileSync('mknod', ['-m', mode, node, 'c', '1', '5'])
    expect(await problem({ 'MCM.DEVICES': node })).toContain('give it the mode 0666')
  })

  /** A device with everything that a file of CDI can have here. */
  function writeCdi(edits: object, name = 'a'): void {
    mkdirSync(join(folder, 'cdi'), { recursive: true })
    const devices = [{ name, containerEdits: edits }]
    const content = JSON.stringify({ cdiVersion: '0.5.0', kind: 'v.com/c', devices })
    writeFileSync(join(folder, `cdi/${name}.json`), content)
  }
  const cdi = { 'MCM.DEVICES': 'v.com/c=a' }

  it('a device of CDI: its nodes, its mounts and its variables', async () => {
    writeFileSync(join(folder, 'lib.so'), '')
    writeCdi({
      deviceNodes: [{ path: '/dev/zero' }],
      mounts: [{ hostPath: `${folder}/lib.so`, containerPath: '/usr/lib/lib.so', options: ['ro'] }],
      env: ['A=1'],
    })
    const given = await hold(cdi)
    expect(deviceSpecs(given)).toMatchObject([{ PathOnHost: '/dev/zero', PathInContainer: '/dev/zero' }])
    expect(mountSpecs(given)).toEqual([`${folder}/lib.so:/usr/lib/lib.so:ro,bind,nosuid,nodev`])
    expect(given.env).toEqual({ A: '1' })
    given.close()
  })

  it('no more of a device of CDI than its file allows', async () => {
    writeFileSync(join(folder, 'data'), '')
    const nodes = [
      { path: '/dev/zero', permissions: 'r' },
      { path: '/dev/full', permissions: 'wm' },
      { path: '/dev/null', permissions: 'rwm' },
    ]
    const mount = { hostPath: `${folder}/data`, containerPath: '/data', options: ['rw', 'noexec'] }
    writeCdi({ deviceNodes: nodes, mounts: [mount] })
    const given = await hold(cdi)
    expect(deviceSpecs(given)).toMatchObject(['r', 'w', 'rw'].map((each) => ({ CgroupPermissions: each })))
    expect(mountSpecs(given)).toEqual([`${folder}/data:/data:rw,bind,nosuid,nodev,noexec`])
    given.close()
    writeCdi({ deviceNodes: [{ path: '/dev/zero', permissions: 'm' }] })
    expect(await problem(cdi)).toContain('a value of deviceNodes.0.permissions that no container gets')
  })

  it.each([
    [{ deviceNodes: [{ path: '/dev/kmsg' }] }, 'it shows the memory or the log'],
    [{ deviceNodes: [{ path: '/dev/missing-x' }] }, '/dev/missing-x is not there'],
    [{ mounts: [{ hostPath: '/etc/shadow', containerPath: '/x' }] }, '/etc/shadow, which no container gets'],
    [{ mounts: [{ hostPath: '/etc', containerPath: '/x' }] }, 'is in it, which no container gets'],
    [{ mounts: [{ hostPath: '/usr', containerPath: '/proc/x' }] }, 'the container has its own /proc'],
    [{ hooks: [] }, 'its file has hooks, which no container gets'],
    [{ deviceNodes: Array(2).fill({ path: '/dev/zero' }) }, 'two things for /dev/zero'],
  ])('nothing of a device of CDI with %j', async (edits, why) => {
    writeCdi(edits)
    const before = openFiles()
    expect(await problem(cdi)).toContain(why)
    expect(openFiles()).toBe(before)
  })

  it('no device of CDI that no file has: the service waits for it', async () => {
    writeCdi({}, 'b')
    expect(await problem(cdi)).toMatch(
      /^engine_unavailable: MCM.DEVICES has v.com\/c=a: \S+ have v.com\/c=b$/,
    )
  })

  it('at most 256 nodes and folders', async () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    for (const each of names) {
      const at = (number: number) => ({ hostPath: folder, containerPath: `/m/${each}${number}` })
      writeCdi({ mounts: Array.from({ length: 60 }, (_, number) => at(number)) }, each)
    }
    const devices = (count: number) => ({
      'MCM.DEVICES': names
        .slice(0, count)
        .map((each) => `v.com/c=${each}`)
        .join(','),
    })
    expect(await problem(devices(4))).toBe('')
    expect(await problem(devices(5))).toContain('has 300 nodes and folders; the limit is 256')
  })

  it('a folder, without the mounts below it, for reading or writing', async () => {
    mkdirSync(join(folder, 'a'))
    const given = await hold({ 'MCM.MOUNTS': `${folder}/a:/x, ${folder}/a:/y:rw` })
    expect(mountSpecs(given)).toEqual([
      `${folder}/a:/x:ro,bind,nosuid,nodev`,
      `${folder}/a:/y:rw,bind,nosuid,nodev`,
    ])
    given.close()
  })

  it.each([
    ['b', '7', '0', 'it is a disk'],
    ['c', '1', '1', 'it shows the memory or the log'],
    ['c', '1', '2', 'it shows the memory or the log'],
    ['c', '1', '4', 'it shows the memory or the log'],
    ['c', '1', '11', 'it shows the memory or the log'],
    ['c', '1', '3', ''],
    ['c', '10', '1', ''],
    ['c', '4', '64', ''],
  ])('of the node %s %s %s: %j', async (type, major, minor, why) => {
    execFileSync('mknod', ['-m', '0666', node, type, major, minor])
    expect(await problem({ 'MCM.DEVICES': node })).toContain(why)
    if (why === '') expect(await problem({ 'MCM.DEVICES': node })).toBe('')
  })

  it('no file as a device, and what is not there with the names that are', async () => {
    writeFileSync(node, 'x')
    expect(await problem({ 'MCM.DEVICES': node })).toContain('it is not a device')
    expect(await problem({ 'MCM.DEVICES': '/dev/shm' })).toContain('it is a folder, so name each device node')
    expect(await problem({ 'MCM.DEVICES': `${node}-missing` })).toMatch(
      /^engine_unavailable: MCM.DEVICES has \S+: \S+ is not there; \/dev has (?:\S+, )*selvedge-given-/,
    )
    expect(await problem({ 'MCM.DEVICES': '/dev/missing/x' })).toContain('/dev/missing is not there')
    expect(await problem({ 'MCM.MOUNTS': `${folder}/missing:/x` })).toMatch(
      /^engine_unavailable: .* is empty$/,
    )
  })

  it('nothing over what it has of its own, and nothing of the runtime', async () => {
    for (const target of ['/proc/x', '/dev/shm', '/run', '/run/secrets', '/sys'])
      expect(await problem({ 'MCM.MOUNTS': `${folder}:${target}` })).toContain('the container has its own')
    expect(await problem({ 'MCM.MOUNTS': `${folder}:/runs` })).toBe('')
    expect(await problem({ 'MCM.MOUNTS': `${folder}:/x` }, { own: [folder] })).toContain(
      'which no container gets',
    )
  })

  it('no pipe, and no open descriptor stays, whether it is refused or closed', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe')])
    mkdirSync(join(folder, 'a'))
    const before = openFiles()
    expect(await problem({ 'MCM.MOUNTS': `${folder}/a:/a, ${folder}/pipe:/x` })).toContain(
      'neither a folder nor a file',
    )
    expect(await problem({ 'MCM.MOUNTS': `${folder}/a:/a, ${folder}/missing:/x` })).toContain('is not there')
    ;(await hold({ 'MCM.MOUNTS': `${folder}/a:/a` })).close()
    expect(openFiles()).toBe(before)
  })
})
