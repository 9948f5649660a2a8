import { describe, expect, it } from 'vitest'
import { readCdiFile } from './cdi-spec.ts'

const kind = 'vendor.com/null'
const fileWith = (containerEdits: unknown, more: object = {}) => ({
  cdiVersion: '0.5.0',
  kind,
  devices: [{ name: 'a', containerEdits }],
  ...more,
})
const deviceWith = (edits: unknown, more: object = {}) =>
  readCdiFile(fileWith(edits, more)).deviceOf(`${kind}=a`)

it('a device has what its file has for it, and for all of them', () => {
  const device = deviceWith(
    {
      deviceNodes: [
        { path: '/dev/zero', hostPath: '/dev/zero', type: 'c', major: 1, minor: 5, permissions: 'rw' },
        { path: '/dev/full', uid: 0, gid: 44, fileMode: 432, major: '1', minor: '0660' },
        { path: '/dev/null', permissions: 'rm' },
        { path: '/dev/random', permissions: '' },
      ],
      mounts: [
        {
          hostPath: '/usr/lib/x.so',
          containerPath: '/usr/lib/x.so',
          options: ['ro', 'nosuid', 'nodev', 'rbind', 'rprivate'],
        },
        { hostPath: '/srv/a', containerPath: '/a', options: ['rw', 'noexec'], type: 'bind' },
        { hostPath: '/srv/b', containerPath: '/b', options: ['rw', 'ro'] },
        { hostPath: '/srv/c', containerPath: '/c' },
      ],
      env: ['A=1=2', 'B='],
    },
    { containerEdits: { env: ['A=of all', 'C=3'] }, annotations: { a: 'b' } },
  )
  expect(device).toEqual({
    nodes: [
      { path: '/dev/zero', access: 'rw' },
      { path: '/dev/full', access: 'rw' },
      { path: '/dev/null', access: 'r' },
      { path: '/dev/random', access: 'rw' },
    ],
    mounts: [
      { source: '/usr/lib/x.so', target: '/usr/lib/x.so', isWritable: false, isExecutable: true },
      { source: '/srv/a', target: '/a', isWritable: true, isExecutable: false },
      { source: '/srv/b', target: '/b', isWritable: false, isExecutable: true },
      { source: '/srv/c', target: '/c', isWritable: false, isExecutable: true },
    ],
    env: { A: '1=2', B: '', C: '3' },
  })
})

it('a device without edits has nothing', () => {
  expect(deviceWith(undefined)).toEqual({ nodes: [], mounts: [], env: {} })
})

describe('no container gets', () => {
  it.each([
    ['hooks', { hooks: [{ hookName: 'createRuntime', path: '/bin/sh' }] }, 'its file has hooks, which'],
    ['other edits', { intelRdt: {}, additionalGids: [1] }, 'its file has intelRdt, additionalGids, which'],
    ['a node elsewhere', { deviceNodes: [{ path: '/etc/shadow' }] }, 'deviceNodes.0.path'],
    ['a node of another path', { deviceNodes: [{ path: '/dev/a', hostPath: '/dev/zero' }] }, 'deviceNodes.0'],
    ['permission to make nodes only', { deviceNodes: [{ path: '/dev/a', permissions: 'm' }] }, 'permissions'],
    ['unknown keys', { deviceNodes: [{ path: '/dev/a', more: 1 }] }, 'deviceNodes.0'],
    ['a number that is a text', { deviceNodes: [{ path: '/dev/a', major: 'x' }] }, 'deviceNodes.0.major'],
    ['a mount with a colon', { mounts: [{ hostPath: '/a:/b', containerPath: '/c' }] }, 'mounts.0.hostPath'],
    ['a mount above', { mounts: [{ hostPath: '/a/../..', containerPath: '/c' }] }, 'mounts.0.hostPath'],
    [
      'set-user-ID programs',
      { mounts: [{ hostPath: '/a', containerPath: '/c', options: ['suid'] }] },
      'options',
    ],
    ['another file system', { mounts: [{ hostPath: '/a', containerPath: '/c', type: 'proc' }] }, 'type'],
    ['a variable with NUL', { env: ['A=\0'] }, 'env.0'],
    ['a variable without a value', { env: ['A'] }, 'env.0'],
    ['a long variable', { env: [`A=${'x'.repeat(4096)}`] }, 'env.0'],
    ['many variables', { env: Array(65).fill('A=1') }, 'env'],
    ['many nodes', { deviceNodes: Array(65).fill({ path: '/dev/zero' }) }, 'deviceNodes'],
    ['many mounts', { mounts: Array(129).fill({ hostPath: '/a', containerPath: '/b' }) }, 'mounts'],
    ['a list', [], 'its file has a value of it'],
  ])('%s', (_, edits, why) => {
    expect(() => deviceWith(edits)).toThrow(why)
    expect(() => deviceWith({}, { containerEdits: edits })).toThrow(why)
  })
})

it('another device of the file may have what no container gets', () => {
  const devices = [{ name: 'a' }, { name: 'b', containerEdits: { hooks: [] } }]
  const file = readCdiFile(fileWith({}, { devices }))
  expect(file.names).toEqual([`${kind}=a`, `${kind}=b`])
  expect(file.deviceOf(`${kind}=a`).env).toEqual({})
  expect(() => file.deviceOf(`${kind}=b`)).toThrow('hooks')
})

it.each([
  ['no object', [], 'it is not as'],
  ['without a kind', fileWith({}, { kind: undefined }), 'kind'],
  ['of a version to come', fileWith({}, { cdiVersion: '2.0.0' }), 'cdiVersion'],
  ['of an early version', fileWith({}, { cdiVersion: '0.2.0' }), 'cdiVersion'],
  ['of a wrong kind', fileWith({}, { kind: 'null' }), '"null=a" is not a name'],
  ['of a kind with a path', fileWith({}, { kind: '../x/y' }), 'is not a name'],
  ['with a wrong name', fileWith({}, { devices: [{ name: 'a/b' }] }), 'is not a name'],
  ['with a device twice', fileWith({}, { devices: [{ name: 'a' }, { name: 'a' }] }), 'a device twice'],
  ['with many devices', fileWith({}, { devices: Array(1025).fill({ name: 'a' }) }), 'devices'],
])('a file is not used: %s', (_, content, why) => {
  expect(() => readCdiFile(content)).toThrow(why)
})

it.each([
  ...['bind', 'rbind', 'noexec', 'nodev', 'nosuid', 'private', 'ro', 'rprivate', 'rslave', 'rw', 'slave'].map(
    (option) => ({ mounts: [{ hostPath: '/a', containerPath: '/b', options: [option] }] }),
  ),
  ...['', 'bind', 'none'].map((type) => ({ mounts: [{ hostPath: '/a', containerPath: '/b', type }] })),
  ...['', 'b', 'c', 'u', 'p'].map((type) => ({ deviceNodes: [{ path: '/dev/zero', type }] })),
  ...['', 'r', 'w', 'rm', 'rwm'].map((permissions) => ({
    deviceNodes: [{ path: '/dev/zero', permissions }],
  })),
  ...['_=', 'a9_=x', 'Ab=\n'].map((variable) => ({ env: [variable] })),
  { env: Array(64).fill(`A=${'x'.repeat(4094)}`) },
])('a container gets %j', (edits) => {
  const { nodes, mounts, env } = deviceWith(edits)
  expect(nodes.length + mounts.length + Object.keys(env).length).toBe(1)
})

it.each([
  ...['x', 'rx', 'xr', 'mr', 'm'].map((permissions) => ({
    deviceNodes: [{ path: '/dev/zero', permissions }],
  })),
  ...['9=x', '=x', 'a b=x', '-a=x', 'é=x'].map((variable) => ({ env: [variable] })),
])('no container gets %j', (edits) => {
  expect(() => deviceWith(edits)).toThrow('no container gets')
})

it('of what a file has too much, four are named', () => {
  expect(() => deviceWith({ a: 1, b: 1, c: 1, d: 1, e: 1 })).toThrow('has a, b, c, d, which')
})

it.each(['0.3.0', '0.9.99', '1.0.0', '1.12.34'])('version %s is read', (cdiVersion) => {
  expect(readCdiFile(fileWith({}, { cdiVersion })).names).toEqual([`${kind}=a`])
})

it.each(['v0.5.0', '0.5.0-rc', '0.5', '0.5.', '1.1.100', '1.100.1', '1.x.1', '0.10.0'])(
  'version %s is not read',
  (cdiVersion) => {
    expect(() => readCdiFile(fileWith({}, { cdiVersion }))).toThrow('cdiVersion')
  },
)
